import { type ClientEvent, defineTool, subscribeToEvents, withJSONSchema } from "@sluice/core";
import { type ChatStoreOptions, createChatStore } from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { createTestClient, DONE, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, hasCall, until } from "./support/chat.js";

type ToolEvent = Extract<ClientEvent, { readonly toolCallId: string }>;

/** Text in the arguments and outputs of the tools, which no event may contain. */
const canary = "canary-51c0";
const createToolCall = (name: string, text = `{"city":"${canary}"}`) =>
  streamCalls({ "call-1": [name, text] });
const city = v.object({ city: v.pipe(v.string(), v.maxLength(20)) });

/** Creates a chat whose gateway responds with one call and then with text, and records the events of its tools. */
function createToolChat(response: string, tools: NonNullable<ChatStoreOptions["tools"]>, id?: string) {
  const all = createChat([response, streamText("Warm.")], { tools, ...(id && { id }) });
  const events: ClientEvent[] = [];
  subscribeToEvents(all.client, (event) => events.push(event));
  const runs = () => events.filter((event): event is ToolEvent => "toolCallId" in event);
  return { ...all, events, runs };
}

describe("the events of a tool", () => {
  test("report its run between the response and the next request, without arguments and output", async () => {
    const weather = defineTool({
      name: "weather",
      inputSchema: city,
      execute: async (input) => {
        await clock.advance(250);
        return { of: input.city, text: canary };
      },
    });
    const { chat, clock, events, runs } = createToolChat(createToolCall("weather"), [weather], "trip");
    await chat.send("How warm?");
    const messageId = chat.getSnapshot().messages[1]?.id;
    const run = { name: "weather", toolCallId: "call-1", chatId: "trip", messageId };
    expect(runs()).toEqual([
      { type: "tool-start", ...run },
      { type: "tool-end", ...run, durationMs: 250, state: "done" },
    ]);
    const types = events.map(({ type }) => type);
    expect(types.indexOf("tool-start")).toBe(types.indexOf("end") + 1);
    expect(types.lastIndexOf("request")).toBe(types.indexOf("tool-end") + 1);
    // the call with the tool call has the same message
    expect(events[0]).toMatchObject({ type: "request", messageId });
    expect(JSON.stringify(events)).not.toContain(canary);
  });

  test("contain no text, header or key, like all events of a chat", async () => {
    const key = `sk-${canary}-0123456789`;
    const events: ClientEvent[] = [];
    const responses = [
      streamCalls({ a: ["note", `{"text":"${canary}"}`] }, { content: canary, reasoning_content: canary }),
      frame({ content: canary }, "stop", { note: canary, system_fingerprint: canary }) + DONE,
    ];
    const { client } = createTestClient((_, nth) => streamResponse(responses[nth - 1] ?? ""), {
      apiKey: key,
      dangerouslyAllowBrowser: true,
      headers: { "x-note": canary },
      onEvent: (event) => events.push(event),
    });
    const note = defineTool({ name: "note", inputSchema: {}, execute: () => canary });
    const chat = createChatStore(client, {
      model: "alpha-v4.1-flash",
      id: "trip",
      instructions: canary,
      tools: [note],
      headers: { "x-other": canary },
    });
    await chat.send(canary);
    expect(events.filter(({ type }) => type === "end" || type === "tool-end")).toMatchObject([
      { outcome: "tool-calls", finishReason: "tool_calls" },
      { state: "done" },
      { outcome: "complete", finishReason: "stop" },
    ]);
    expect(JSON.stringify(events)).not.toContain(canary);
  });

  test("contain the error that `execute` throws, unchanged", async () => {
    const error = new TypeError("no such city");
    const throws = defineTool({ name: "weather", inputSchema: city, execute: () => Promise.reject(error) });
    const { chat, runs } = createToolChat(createToolCall("weather"), [throws]);
    await chat.send("How warm?");
    expect(runs()).toMatchObject([{ type: "tool-start" }, { type: "tool-end", state: "failed" }]);
    expect(runs()[1]).toHaveProperty("error", error);
    expect(runs()[0]?.chatId).toBeUndefined();
  });

  test.each([
    ["do not fit the schema", `{"city":"${canary.repeat(3)}"}`],
    ["are of another type", `["${canary}"]`],
    ["are no JSON", `{"city":"${canary}`],
  ])("report a failure without quoting the arguments if they %s", async (_, text) => {
    const ran: unknown[] = [];
    const weather = defineTool({ name: "weather", inputSchema: city, execute: (input) => ran.push(input) });
    const { chat, runs, events } = createToolChat(createToolCall("weather", text), [weather]);
    await chat.send("How warm?");
    expect(runs()).toMatchObject([
      { type: "tool-start", toolCallId: "call-1" },
      { type: "tool-end", durationMs: 0, state: "failed", error: { name: "ValidationError" } },
    ]);
    expect(ran).toEqual([]);
    const texts = events.map((event) => JSON.stringify(event) + String("error" in event && event.error));
    expect(texts.join()).not.toContain(canary);
  });

  test("report an output without JSON as a failure, and do not quote it", async () => {
    const output: Record<string, unknown> = {};
    output[canary] = output;
    const loops = defineTool({ name: "loops", inputSchema: {}, execute: () => output });
    const { chat, runs } = createToolChat(createToolCall("loops", "{}"), [loops]);
    await chat.send("Loop");
    expect(runs()[1]).toMatchObject({ type: "tool-end", state: "failed" });
    expect(String((runs()[1] as { error?: Error }).error)).not.toContain(canary);
  });

  test("report a stop at once, even if `execute` continues and ends later", async () => {
    let finish = (_: string): void => {};
    const slow = defineTool({
      name: "slow",
      inputSchema: {},
      execute: () => new Promise<string>((resolve) => (finish = resolve)),
    });
    const { chat, runs } = createToolChat(createToolCall("slow", "{}"), [slow]);
    const turn = chat.send("Wait");
    await until(chat, hasCall("running"));
    await settled();
    chat.stop();
    await turn;
    await settled();
    finish("late");
    await settled();
    expect(runs().map((event) => [event.type, "state" in event && event.state])).toEqual([
      ["tool-start", false],
      ["tool-end", "cancelled"],
    ]);
  });

  test("do not begin, and the tool does not run, if the chat is stopped while the arguments are checked", async () => {
    let check = (): void => {};
    let checks = 0;
    const ran: unknown[] = [];
    const parameters = v.pipeAsync(
      v.object({}),
      v.checkAsync(() => {
        checks += 1;
        // the second check belongs to the run
        return checks === 1 ? true : new Promise<boolean>((resolve) => (check = () => resolve(true)));
      }),
    );
    const tool = defineTool({
      name: "slow",
      inputSchema: withJSONSchema(parameters as never, { type: "object" }),
      execute: (input) => ran.push(input),
    });
    const { chat, runs } = createToolChat(createToolCall("slow", "{}"), [tool]);
    const turn = chat.send("Wait");
    await until(chat, hasCall("running"));
    await settled();
    chat.stop();
    await turn;
    check();
    await settled();
    expect(runs()).toEqual([]);
    expect(ran).toEqual([]);
    expect(checks).toBe(2);
  });

  test("report the timeout of a tool", async () => {
    const silent = defineTool({
      name: "silent",
      inputSchema: {},
      timeoutMs: 1000,
      execute: () => new Promise<never>(() => {}),
    });
    const { chat, clock, runs } = createToolChat(createToolCall("silent", "{}"), [silent]);
    const turn = chat.send("Wait");
    await until(chat, hasCall("running"));
    await settled();
    await clock.advance(1000);
    await turn;
    expect(runs()).toMatchObject([
      { type: "tool-start" },
      {
        type: "tool-end",
        durationMs: 1000,
        state: "failed",
        error: { name: "TimeoutError", message: expect.stringContaining("1000") },
      },
    ]);
  });

  test("are emitted for each run of a tool that waited for the user, and not for a tool that the app runs", async () => {
    const pay = defineTool({ name: "pay", inputSchema: {}, needsApproval: true, execute: () => "paid" });
    const askUser = defineTool({ name: "ask", inputSchema: {} });
    const { chat, runs } = createToolChat(
      streamCalls({ a: ["pay", "{}"], b: ["ask", "{}"], c: ["none", "{}"] }),
      [pay, askUser],
    );
    await chat.send("Pay");
    expect(runs()).toEqual([]);
    await Promise.all([chat.approve("a"), chat.addToolOutput("b", "yes")]);
    expect(runs()).toMatchObject([
      { type: "tool-start", name: "pay", toolCallId: "a" },
      { type: "tool-end", name: "pay", toolCallId: "a", state: "done" },
    ]);
  });
});
