import { type ClientEvent, ConfigurationError, defineTool, type Tool, withJSONSchema } from "@sluice/core";
import { type ChatStore, createChatStore, memoryStorage } from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, test, vi } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  settled,
  streamResponse,
  waitForTurn,
} from "../../core/test/support/gateway.js";
import { checkOnly, streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat, hasCall, until } from "./support/chat.js";

const city = v.object({ city: v.pipe(v.string(), v.minLength(2)) });
const weather = defineTool({
  name: "weather",
  description: "The weather of a city",
  inputSchema: city,
  execute: ({ city }) => ({ city, celsius: 21 }),
});
const romeCall = streamCalls({ a: ["weather", '{"city":"Rome"}'] }, { reasoning_content: "Let me look." });

/** Lists the tool calls of the last message with calls. */
function listCalls(chat: ChatStore) {
  return chat.getSnapshot().messages.findLast(({ toolCalls }) => toolCalls)?.toolCalls;
}

describe("defineTool", () => {
  test("writes a valibot schema as JSON Schema, without checks that JSON Schema lacks", async () => {
    const parameters = v.object({
      year: v.pipe(v.string(), v.transform(Number), v.number()),
      even: v.pipe(
        v.number(),
        v.minValue(2),
        v.check((n) => n % 2 === 0),
      ),
      unit: v.optional(v.picklist(["C", "F"]), "C"),
    });
    expect(await defineTool({ name: "t", inputSchema: parameters }).definition()).toMatchObject({
      type: "function",
      function: {
        name: "t",
        parameters: {
          type: "object",
          properties: {
            year: { type: "string" },
            even: { type: "number", minimum: 2 },
            unit: { enum: ["C", "F"] },
          },
          required: ["year", "even"],
        },
      },
    });
  });

  test("accepts a JSON Schema unchanged, and a schema that writes its own", async () => {
    const parameters = { type: "object", properties: {} };
    const { definition } = defineTool({ name: "t", inputSchema: parameters });
    expect((await definition()).function.parameters).toEqual(parameters);
    const other = {
      "~standard": {
        version: 1 as const,
        vendor: "other",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: () => ({ type: "object", title: "own" }) },
      },
    };
    const knows = defineTool({ name: "t", inputSchema: other });
    expect((await knows.definition()).function.parameters).toEqual({
      type: "object",
      title: "own",
    });
  });

  test("uses the JSON Schema of withJSONSchema, and checks with the schema", async () => {
    const checks = checkOnly((value) => typeof Object(value).city === "string");
    const jsonSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const ran: unknown[] = [];
    const weather = defineTool({
      name: "weather",
      inputSchema: withJSONSchema(checks, jsonSchema),
      execute: (input) => ran.push(input),
    });
    expect((await weather.definition()).function.parameters).toEqual(jsonSchema);
    const { chat } = createChat(
      [streamCalls({ a: ["weather", '{"city":7}'], b: ["weather", '{"city":"Rome"}'] }), streamText("Warm.")],
      { tools: [weather] },
    );
    expect((await chat.send("How warm?")).messages[1]?.toolCalls).toMatchObject([
      { state: "failed", error: expect.stringContaining("do not fit") },
      { state: "done" },
    ]);
    expect(ran).toEqual([{ city: "Rome" }]);
  });

  test("prefers the JSON Schema of withJSONSchema to the schema's own", async () => {
    const jsonSchema = { type: "object", description: "of the app" };
    const tool = defineTool({
      name: "t",
      inputSchema: withJSONSchema(v.object({ at: v.date() }), jsonSchema),
    });
    expect((await tool.definition()).function.parameters).toEqual(jsonSchema);
  });

  test.each([
    ["name", () => defineTool({ name: "no spaces", inputSchema: {} })],
    [
      "inputSchema",
      () =>
        defineTool({
          name: "t",
          inputSchema: { "~standard": { version: 1, vendor: "other", validate: (value) => ({ value }) } },
        }),
    ],
  ])("refuses a %s that a model cannot use, and names it", (field, define) => {
    expect(define).toThrow(ConfigurationError);
    expect(define).toThrow(field);
  });
});

describe("a chat with tools", () => {
  test("does not send a tool whose schema has no JSON Schema, and names the tool", async () => {
    const dated = defineTool({ name: "dated", inputSchema: v.object({ at: v.date() }) });
    const { chat, requests } = createChat([streamText("Yes.")], { tools: [dated] });
    expect(await chat.send("When?")).toMatchObject({
      outcome: "not-sent",
      error: {
        name: "ConfigurationError",
        message: expect.stringMatching(/inputSchema of the tool "dated": .*date/),
      },
    });
    expect(requests).toHaveLength(0);
  });

  test("runs the calls of the model, sends the results, and shows the response", async () => {
    const { chat, clock, requests, sent } = createChat([romeCall, streamText("21 degrees.")], {
      tools: [weather],
    });
    const turn = await chat.send("Weather in Rome?");
    expect(turn).toMatchObject({
      outcome: "complete",
      messages: [
        { role: "user" },
        {
          outcome: "tool-calls",
          reasoning: "Let me look.",
          toolCalls: [
            {
              name: "weather",
              state: "done",
              input: { city: "Rome" },
              output: { city: "Rome", celsius: 21 },
            },
          ],
        },
        { content: "21 degrees.", outcome: "complete" },
      ],
    });
    expect(await requests[0]?.clone().json()).toMatchObject({ tools: [await weather.definition()] });
    expect(await sent(1)).toEqual([
      { role: "user", content: "Weather in Rome?" },
      {
        role: "assistant",
        content: "",
        reasoning_content: "Let me look.",
        tool_calls: [
          { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
        ],
      },
      { role: "tool", tool_call_id: "a", content: '{"city":"Rome","celsius":21}' },
    ]);
    expect(requests).toHaveLength(2);
    // no timer of a tool or a request stays behind
    expect(clock.sleeping()).toBe(0);
  });

  test("passes the id of the call and the thread to a tool", async () => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: "look",
      inputSchema: { type: "object" },
      execute: (_, { toolCallId, messages }) =>
        void seen.push(
          toolCallId,
          messages.map(({ role }) => role),
        ),
    });
    const { chat } = createChat([streamCalls({ a: ["look", "{}"] }), streamText("Done.")], { tools: [look] });
    await chat.send("Go");
    expect(seen).toEqual(["a", ["user", "assistant"]]);
  });

  test("runs calls in parallel, and sends their results in the order of the calls", async () => {
    const finish: Record<string, (text: string) => void> = {};
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: (_, { toolCallId }) =>
        new Promise<string>((resolve) => {
          finish[toolCallId] = resolve;
        }),
    });
    const { chat, sent } = createChat(
      [streamCalls({ a: ["slow", "{}"], b: ["slow", ""] }), streamText("Done.")],
      {
        tools: [slow],
      },
    );
    const turn = chat.send("Go");
    await until(chat, hasCall("running"));
    await settled();
    expect(Object.keys(finish)).toEqual(["a", "b"]);
    finish["b"]?.("second");
    await until(chat, hasCall("done", "b"));
    expect(listCalls(chat)).toMatchObject([{ state: "running" }, { state: "done", output: "second" }]);
    expect(chat.getSnapshot().status).toBe("streaming");
    finish["a"]?.("first");
    await turn;
    expect((await sent(1))?.slice(2)).toEqual([
      { role: "tool", tool_call_id: "a", content: "first" },
      { role: "tool", tool_call_id: "b", content: "second" },
    ]);
  });

  test.each([
    ["arguments that are no JSON", '{"city":', /not JSON/],
    ["arguments that do not fit", '{"city":"R"}', /city: .*length/],
    ["a missing argument", "", /city/],
  ])("reports %s to the model, and continues", async (_, text, message) => {
    const { chat, sent } = createChat([streamCalls({ a: ["weather", text] }), streamText("Sorry.")], {
      tools: [weather],
    });
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)).toMatchObject([{ state: "failed", error: expect.stringMatching(message) }]);
    const result = (await sent(1))?.at(-1);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "a" });
    expect(JSON.parse(String(result?.["content"])).error).toMatch(message);
  });

  test.each([
    ["its own message", { code: 7, message: "the table is locked" }, "the table is locked"],
    ["its JSON without one", { code: 7 }, '{"code":7}'],
    ["the name of an error without a message", new TypeError(), "TypeError"],
    ["its class for a value of the platform", new Response(), "[object Response] without a message"],
    ["the text that was thrown", "locked", "locked"],
  ])("reports the error that a tool throws: %s", async (_, thrown, message) => {
    const tools = [
      defineTool({ name: "save", inputSchema: { type: "object" }, execute: () => Promise.reject(thrown) }),
    ];
    const { chat, sent } = createChat([streamCalls({ a: ["save", "{}"] }), streamText("Sorry.")], { tools });
    await chat.send("Go");
    expect(listCalls(chat)).toMatchObject([{ state: "failed", error: message }]);
    expect(JSON.parse(String((await sent(1))?.at(-1)?.["content"]))).toEqual({ error: message });
  });

  test.each([
    ["an unknown tool", "nothing", /there is no tool "nothing"; there are: weather, throws/],
    ["a tool that throws", "throws", /out of order/],
    ["a tool that gives what JSON can't hold", "circular", /JSON/],
  ])("reports %s to the model, and continues", async (_, name, message) => {
    const parameters = { type: "object" };
    const tools = [
      weather,
      defineTool({
        name: "throws",
        inputSchema: parameters,
        execute: () => Promise.reject(new Error("out of order")),
      }),
      defineTool({
        name: "circular",
        inputSchema: parameters,
        execute: () => {
          const self: { self?: unknown } = {};
          self.self = self;
          return self;
        },
      }),
    ];
    const { chat, sent } = createChat([streamCalls({ a: [name, "{}"] }), streamText("Sorry.")], { tools });
    expect(await chat.send("Go")).toMatchObject({ outcome: "complete" });
    const result = (await sent(1))?.at(-1);
    expect(result).toMatchObject({ role: "tool", tool_call_id: "a" });
    expect(JSON.parse(String(result?.["content"])).error).toMatch(message);
  });

  const loose = {
    "~standard": {
      version: 1 as const,
      vendor: "other",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ type: "object" }) },
    },
  };
  test.each<[string, Tool["schema"] | Record<string, unknown>]>([
    ["a plain JSON Schema of an object", { type: "object", properties: {} }],
    ["a plain JSON Schema without a type", { properties: { city: { type: "string" } } }],
    ["an empty JSON Schema", {}],
    ["an object of valibot", v.object({})],
    ["a record of valibot", v.record(v.string(), v.string())],
    ["a schema of another library", loose],
  ])("Arguments that are not an object never reach a tool with %s", async (_, parameters) => {
    const seen: unknown[] = [];
    const tool = defineTool({
      name: "t",
      inputSchema: parameters as Record<string, unknown>,
      execute: (input) => void seen.push(input),
    });
    for (const text of ["null", "[]", '["x"]', '"x"', "5", "true"]) {
      const { chat, sent } = createChat([streamCalls({ a: ["t", text] }), streamText("Sorry.")], {
        tools: [tool],
      });
      expect(await chat.send("Go")).toMatchObject({ outcome: "complete" });
      expect(listCalls(chat)).toMatchObject([
        { state: "failed", error: expect.stringMatching(/do not fit.*not object/) },
      ]);
      expect((await sent(1))?.at(-1)?.["content"]).toMatch(/do not fit/);
    }
    expect(seen).toEqual([]);
  });

  test("Arguments of another type reach a tool whose JSON Schema names it", async () => {
    const seen: unknown[] = [];
    const tool = defineTool({
      name: "t",
      inputSchema: { type: ["array", "integer", "null"] },
      execute: (input) => void seen.push(input),
    });
    for (const text of ["null", "[1]", "5", "5.5", '"x"']) {
      const { chat } = createChat([streamCalls({ a: ["t", text] }), streamText("Done.")], { tools: [tool] });
      await chat.send("Go");
    }
    expect(seen).toEqual([null, [1], 5]);
  });

  test("ends a slow tool after its time limit, aborts its signal, and continues", async () => {
    let reason: unknown;
    const stuck = defineTool({
      name: "stuck",
      inputSchema: { type: "object" },
      timeoutMs: 5000,
      execute: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener("abort", () => {
            reason = signal.reason;
          });
        }),
    });
    const { chat, clock } = createChat([streamCalls({ a: ["stuck", "{}"] }), streamText("Sorry.")], {
      tools: [stuck],
    });
    const turn = chat.send("Go");
    await until(chat, hasCall("running"));
    await clock.advance(4999);
    expect(listCalls(chat)).toMatchObject([{ state: "running" }]);
    await clock.advance(1);
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)).toMatchObject([{ state: "failed", error: "no result after 5000 ms" }]);
    expect(reason).toMatchObject({ message: "no result after 5000 ms" });
  });

  test("shows arguments growing as they stream", async () => {
    const { chat, clock, connections } = createLiveChat({ tools: [weather] });
    const [connection] = connections;
    const seen: unknown[] = [];
    chat.subscribe(() => seen.push(listCalls(chat)?.[0]?.input));
    void chat.send("Weather?");
    await connection?.wanted();
    for (const text of ['{"ci', 'ty":"Ro', 'me"']) {
      connection?.send(
        frame({ tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: text } }] }),
      );
      await connection?.wanted();
      // the chat loads this parser for its first call
      await import("@sluice/core/partial-json");
      await waitForTurn();
      await clock.advance(50);
    }
    expect(seen).toContainEqual({ city: "Ro" });
    expect(listCalls(chat)).toMatchObject([
      { state: "streaming", input: { city: "Rome" }, arguments: '{"city":"Rome"' },
    ]);
    const [first] = listCalls(chat) ?? [];
    connection?.send(
      frame({ tool_calls: [{ index: 1, id: "b", function: { name: "weather", arguments: "{" } }] }),
    );
    await connection?.wanted();
    await clock.advance(50);
    expect(listCalls(chat)).toHaveLength(2);
    expect(listCalls(chat)?.[0]).toBe(first);
    chat.stop();
  });

  test("runs two calls with one id, and sends both results", async () => {
    const call = (index: number, city: string) => ({
      index,
      id: "a",
      function: { name: "weather", arguments: JSON.stringify({ city }) },
    });
    const twice = frame({ tool_calls: [call(0, "Rome"), call(1, "Oslo")] }) + frame({}, "tool_calls") + DONE;
    const { chat, sent } = createChat([twice, streamText("Warm.")], { tools: [weather] });
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)).toMatchObject([
      { state: "done", output: { city: "Rome" } },
      { state: "done", output: { city: "Oslo" } },
    ]);
    const results = (await sent(1))?.slice(2) ?? [];
    expect(results.map(({ content }) => JSON.parse(String(content)).city)).toEqual(["Rome", "Oslo"]);
    expect(new Set(results.map(({ tool_call_id }) => tool_call_id)).size).toBe(2);
  });

  test("continues after a call whose id is a number", async () => {
    const { chat, sent } = createChat(
      [
        streamCalls({ a: ["weather", '{"city":"Rome"}'] }).replaceAll('"id":"a"', '"id":7'),
        streamText("Warm."),
      ],
      { tools: [weather] },
    );
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "complete" });
    expect((await sent(1))?.at(-1)).toMatchObject({ role: "tool", tool_call_id: "7" });
    expect(await chat.send("And?")).toMatchObject({ outcome: "complete" });
  });

  test("fails a call whose needsApproval does not resolve within the time limit", async () => {
    let called: () => void = () => {};
    const approvalRequested = new Promise<void>((resolve) => {
      called = resolve;
    });
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: () => "",
      needsApproval() {
        called();
        return new Promise(() => {});
      },
      timeoutMs: 1000,
    });
    const { chat, clock, sent } = createChat([streamCalls({ a: ["slow", "{}"] }), streamText("Sorry.")], {
      tools: [slow],
    });
    const turn = chat.send("Go");
    await approvalRequested;
    await clock.advance(1000);
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)).toMatchObject([{ state: "failed", error: expect.stringContaining("1000 ms") }]);
    expect((await sent(1))?.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("1000 ms"),
    });
  });

  test("shows calls that end together as one change", async () => {
    const ids = Array.from(
      { length: 500 },
      (_, index) => [`c${index}`, ["weather", '{"city":"Rome"}']] as const,
    );
    const { chat } = createChat([streamCalls(Object.fromEntries(ids)), streamText("Warm.")], {
      tools: [weather],
    });
    let changes = 0;
    chat.subscribe(() => {
      changes += 1;
    });
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)?.every(({ state }) => state === "done")).toBe(true);
    expect(changes).toBeLessThan(20);
  });

  test("needs linear time for many calls", async () => {
    const ids = Array.from(
      { length: 500 },
      (_, index) => [`c${index}`, ["weather", '{"city":"Rome"}']] as const,
    );
    const { chat } = createChat([streamCalls(Object.fromEntries(ids)), streamText("Warm.")], {
      tools: [weather],
    });
    const spy = vi.spyOn(EventTarget.prototype, "addEventListener");
    await chat.send("Weather?");
    const added = new Map<unknown, number>();
    for (const target of spy.mock.contexts) added.set(target, (added.get(target) ?? 0) + 1);
    spy.mockRestore();
    expect(added.size).toBeGreaterThan(500);
    expect(Math.max(...added.values())).toBeLessThan(50);
  });

  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  test.each([
    ["a result of a bigint", "{}", () => 1n, /JSON/],
    ["a result nested too deep", "{}", () => JSON.parse(deep(20_000)), /nested/],
    ["arguments nested too deep", `{"x":${deep(20_000)}}`, () => "", /nested/],
  ])("reports %s to the model, and the chat continues and is stored", async (_, text, execute, message) => {
    const storage = memoryStorage();
    const tool = defineTool({ name: "odd", inputSchema: { type: "object" }, execute });
    const options = { id: "c", tools: [tool], storage };
    const { chat, sent } = createChat([streamCalls({ a: ["odd", text] }), streamText("Sorry.")], options);
    expect(await chat.send("Go")).toMatchObject({ outcome: "complete" });
    expect(listCalls(chat)).toMatchObject([{ state: "failed", error: expect.stringMatching(message) }]);
    expect((await sent(1))?.at(-1)?.["content"]).toMatch(message);
    await settled();
    expect((await storage.read("chat/c")).size).toBe(4);
  });

  test("accepts a result that is nested up to 500 levels deep", async () => {
    const tool = (levels: number) =>
      defineTool({ name: "odd", inputSchema: { type: "object" }, execute: () => JSON.parse(deep(levels)) });
    for (const [levels, state] of [
      [500, "done"],
      [501, "failed"],
    ] as const) {
      const { chat } = createChat([streamCalls({ a: ["odd", "{}"] }), streamText("Done")], {
        tools: [tool(levels)],
      });
      await chat.send("Go");
      expect(listCalls(chat)).toMatchObject([{ state }]);
    }
  });

  test("closes the calls without a result when the response is retried", async () => {
    const waiting = defineTool({ name: "asked", inputSchema: { type: "object" } });
    const { chat } = createChat([streamCalls({ a: ["asked", "{}"] }), streamText("Done")], {
      tools: [waiting],
    });
    await chat.send("Go");
    expect(listCalls(chat)).toMatchObject([{ state: "needs-output" }]);
    await chat.retry();
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
  });

  test("passes the schema's output to a tool, and shows the arguments if that output has no JSON", async () => {
    let seen: unknown;
    const count = defineTool({
      name: "count",
      inputSchema: v.object({
        n: v.pipe(
          v.string(),
          v.transform((text) => BigInt(text)),
        ),
      }),
      execute: ({ n }) => {
        seen = n;
        return "ok";
      },
    });
    const { chat } = createChat([streamCalls({ a: ["count", '{"n":"7"}'] }), streamText("Seven.")], {
      tools: [count],
    });
    await chat.send("Go");
    expect(seen).toBe(7n);
    expect(listCalls(chat)).toMatchObject([{ state: "done", input: { n: "7" } }]);
  });

  test("ends after maxSteps responses, and sends results for the calls that did not run", async () => {
    const { chat, requests, sent } = createChat([romeCall, romeCall, streamText("Well.")], {
      tools: [weather],
      maxSteps: 2,
    });
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "step-limit" });
    expect(requests).toHaveLength(2);
    expect(listCalls(chat)).toMatchObject([
      { state: "cancelled", error: expect.stringContaining("2 responses") },
    ]);
    expect(chat.getSnapshot().status).toBe("ready");
    expect(await chat.send("And?")).toMatchObject({ outcome: "complete" });
    expect(await sent(2)).toHaveLength(6);
  });
});

test("A tool that is called with empty arguments runs with {}, and the call goes back as {}", async () => {
  const inputs: unknown[] = [];
  const refresh = defineTool({
    name: "refresh",
    inputSchema: { type: "object" },
    execute: (input) => {
      inputs.push(input);
      return "done";
    },
  });
  const { chat, sent } = createChat([streamCalls({ a: ["refresh", ""] }), streamText("Done.")], {
    tools: [refresh],
  });
  expect(await chat.send("Refresh")).toMatchObject({ outcome: "complete" });
  expect(inputs).toEqual([{}]);
  expect((await sent(1))?.[1]).toMatchObject({
    tool_calls: [{ function: { name: "refresh", arguments: "{}" } }],
  });
});

describe("a tool call that needs approval", () => {
  const guarded = defineTool({
    name: "delete",
    inputSchema: v.object({ file: v.string() }),
    needsApproval: ({ file }) => file !== "tmp",
    execute: ({ file }) => `deleted ${file}`,
  });
  const deletes = streamCalls({ a: ["delete", '{"file":"all"}'], b: ["delete", '{"file":"tmp"}'] });

  test("waits while other calls run, and continues once after several approvals", async () => {
    const { chat, requests, sent } = createChat([deletes, streamText("Gone.")], { tools: [guarded] });
    const nothing = chat.getSnapshot().pendingActions;
    const finished: unknown[] = [];
    expect(await chat.send("Delete")).toMatchObject({ outcome: "tool-calls" });
    expect(chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [{ type: "approval", toolCallId: "a", name: "delete", input: { file: "all" } }],
    });
    expect(listCalls(chat)).toMatchObject([
      { state: "needs-approval" },
      { state: "done", output: "deleted tmp" },
    ]);
    const turns = [chat.approve("a"), chat.approve("a")];
    finished.push(...(await Promise.all(turns)));
    expect(finished).toMatchObject([{ outcome: "complete" }, { outcome: "complete" }]);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", pendingActions: [] });
    // the same list, so that its component does not render again
    expect(chat.getSnapshot().pendingActions).toBe(nothing);
    expect(requests).toHaveLength(2);
    expect((await sent(1))?.slice(2)).toMatchObject([{ content: "deleted all" }, { content: "deleted tmp" }]);
    expect(await chat.approve("a")).toMatchObject({ outcome: "not-sent" });
  });

  test.each<[string, unknown]>([
    ["nothing", () => undefined],
    ["null", () => null],
    ["an empty text", () => ""],
    ["the text no", () => "no"],
    ["0", () => 0],
    ["1", () => 1],
    ["a promise of nothing", async () => {}],
    ["a promise that is rejected", () => Promise.reject(new Error("who knows"))],
    [
      "an error",
      () => {
        throw new Error("who knows");
      },
    ],
    ["a text instead of a function", "no"],
    ["null instead of a function", null],
  ])("A call waits for the user, with a warning, if needsApproval returns %s", async (_, needsApproval) => {
    const ran: string[] = [];
    const events: ClientEvent[] = [];
    const pay = defineTool({
      name: "pay",
      inputSchema: { type: "object" },
      execute: () => void ran.push("pay"),
      needsApproval: needsApproval as () => boolean,
    });
    const { client } = createTestClient(
      (_, nth) => streamResponse(nth === 1 ? streamCalls({ a: ["pay", "{}"] }) : streamText("Paid.")),
      { onEvent: (event) => events.push(event) },
    );
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: [pay] });
    expect(await chat.send("Pay")).toMatchObject({ outcome: "tool-calls" });
    expect(chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [{ type: "approval", toolCallId: "a" }],
    });
    expect(ran).toEqual([]);
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([
      {
        issue: {
          path: "needsApproval",
          rule: "chat.tools.approval",
          message: expect.stringMatching(/"pay"/),
        },
      },
    ]);
    expect(await chat.approve("a")).toMatchObject({ outcome: "complete" });
    expect(ran).toEqual(["pay"]);
  });

  test("A call runs at once or waits, without a warning, if needsApproval returns false or true", async () => {
    const warned: unknown[] = [];
    for (const [needsApproval, state] of [
      [false, "done"],
      [() => false, "done"],
      [async () => true, "needs-approval"],
    ] as const) {
      const tool = defineTool({ name: "t", inputSchema: {}, execute: () => "ok", needsApproval });
      const { client } = createTestClient(
        (_, nth) => streamResponse(nth === 1 ? streamCalls({ a: ["t", "{}"] }) : streamText("Done.")),
        { onEvent: ({ type }) => type === "warning" && warned.push(type) },
      );
      const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: [tool] });
      await chat.send("Go");
      expect(listCalls(chat)).toMatchObject([{ state }]);
    }
    expect(warned).toEqual([]);
  });

  test("does not run after a denial, and the model gets the reason", async () => {
    const { chat, sent } = createChat([deletes, streamText("Kept.")], { tools: [guarded] });
    await chat.send("Delete");
    expect(await chat.deny("a", "too many")).toMatchObject({ outcome: "complete" });
    expect((await sent(1))?.[2]).toEqual({
      role: "tool",
      tool_call_id: "a",
      content: '{"error":"too many"}',
    });
  });

  test("is cancelled by the next message, and by stop", async () => {
    const { chat, sent } = createChat([deletes, streamText("Fine."), deletes, streamText("Fine.")], {
      tools: [guarded],
    });
    await chat.send("Delete");
    expect(await chat.send("Never mind")).toMatchObject({ outcome: "complete" });
    expect((await sent(1))?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }, { state: "done" }]);
    await chat.send("Delete");
    chat.stop();
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", pendingActions: [] });
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }, { state: "done" }]);
    expect(await chat.approve("a")).toMatchObject({ outcome: "not-sent" });
  });

  test("runs as soon as it is approved while another call runs, and each call runs once", async () => {
    const ran: string[] = [];
    let finish: (text: string) => void = () => {};
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: () => {
        ran.push("slow");
        return new Promise<string>((resolve) => {
          finish = resolve;
        });
      },
    });
    const quick = defineTool({
      name: "quick",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: () => void ran.push("quick"),
    });
    const { chat } = createChat(
      [streamCalls({ a: ["slow", "{}"], b: ["quick", "{}"] }), streamText("Done.")],
      {
        tools: [slow, quick],
      },
    );
    const turn = chat.send("Go");
    await until(chat, hasCall("needs-approval"));
    void chat.approve("b");
    await until(chat, hasCall("done", "b"));
    expect(listCalls(chat)).toMatchObject([{ state: "running" }, { state: "done" }]);
    finish("");
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect(ran).toEqual(["slow", "quick"]);
  });

  test("does not wait for approval if the chat was stopped during needsApproval", async () => {
    let decide: (needed: boolean) => void = () => {};
    let setRequested: () => void = () => {};
    const requested = new Promise<void>((resolve) => {
      setRequested = resolve;
    });
    const doubtful = defineTool({
      name: "doubtful",
      inputSchema: { type: "object" },
      needsApproval: () =>
        new Promise<boolean>((resolve) => {
          decide = resolve;
          setRequested();
        }),
    });
    const { chat } = createChat([streamCalls({ a: ["doubtful", "{}"] })], { tools: [doubtful] });
    const turn = chat.send("Go");
    await requested;
    chat.stop();
    decide(true);
    expect(await turn).toMatchObject({ outcome: "stopped" });
    await settled();
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", pendingActions: [] });
  });

  test("runs with the options of its turn if another component approves it", async () => {
    const { chat, requests } = createChat([deletes, streamText("Gone."), streamText("Hello.")], {
      tools: [guarded],
    });
    const banner = chat.withOptions({ model: "delta-5.3" });
    await chat.send("Delete");
    expect(await banner.approve("a")).toMatchObject({ outcome: "complete" });
    await banner.send("And you?");
    const bodies = await Promise.all(requests.map((request) => request.json()));
    expect(bodies).toMatchObject([
      { model: "alpha-v4.1-flash", tools: [{}] },
      { model: "alpha-v4.1-flash", tools: [{}] },
      { model: "delta-5.3" },
    ]);
    expect(bodies[2]).not.toHaveProperty("tools");
    expect(banner.getSnapshot()).toBe(chat.getSnapshot());
  });

  test("calls onFinish when the turn has ended, not while it waits", async () => {
    const outcomes: string[] = [];
    const { chat } = createChat([deletes, streamText("Gone.")], {
      tools: [guarded],
      onFinish: ({ outcome }) => outcomes.push(outcome),
    });
    await chat.send("Delete");
    await settled();
    expect(outcomes).toEqual([]);
    await chat.approve("a");
    await settled();
    expect(outcomes).toEqual(["complete"]);
  });
});

describe("a tool without execute", () => {
  const askUser = defineTool({ name: "ask", inputSchema: { type: "object" } });
  const twoCalls = streamCalls({ a: ["ask", '{"q":1}'], b: ["ask", '{"q":2}'] });

  test("waits for its result, and accepts each result once, in any order", async () => {
    const { chat, requests, sent } = createChat([twoCalls, streamText("Thanks.")], { tools: [askUser] });
    await chat.send("Ask me");
    const statuses: string[] = [];
    chat.subscribe(() => statuses.push(chat.getSnapshot().status));
    expect(chat.getSnapshot()).toMatchObject({
      status: "requires-action",
      pendingActions: [
        { type: "output", toolCallId: "a", input: { q: 1 } },
        { type: "output", toolCallId: "b" },
      ],
    });
    expect(await chat.addToolOutput("b", "two")).toMatchObject({ outcome: "tool-calls" });
    expect(await chat.addToolOutput("b", "other")).toMatchObject({ outcome: "not-sent" });
    expect(requests).toHaveLength(1);
    expect(new Set(statuses)).toEqual(new Set(["requires-action"]));
    expect(await chat.addToolOutput("a", { one: 1 })).toMatchObject({ outcome: "complete" });
    await chat.addToolOutput("a", { one: 1 });
    expect(requests).toHaveLength(2);
    expect((await sent(1))?.slice(2)).toMatchObject([{ content: '{"one":1}' }, { content: "two" }]);
  });

  test("accepts its result while another call runs", async () => {
    let finish: (text: string) => void = () => {};
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: () =>
        new Promise<string>((resolve) => {
          finish = resolve;
        }),
    });
    const both = streamCalls({ a: ["ask", "{}"], b: ["slow", "{}"] });
    const { chat, requests } = createChat([both, streamText("Thanks.")], { tools: [askUser, slow] });
    const turn = chat.send("Go");
    await until(chat, hasCall("running"));
    expect(chat.getSnapshot().pendingActions).toMatchObject([{ toolCallId: "a" }]);
    void chat.addToolOutput("a", "one");
    await settled();
    expect(requests).toHaveLength(1);
    finish("two");
    expect(await turn).toMatchObject({ outcome: "complete" });
    expect(requests).toHaveLength(2);
  });
});

describe("stop in a chat with tools", () => {
  test("during the arguments leaves a history that the next request can send", async () => {
    const { chat, connections, requests } = createLiveChat({ tools: [weather] });
    const [first, second] = connections;
    const turn = chat.send("Weather?");
    await first?.wanted();
    first?.send(
      frame({ content: "Let me" }) +
        frame({ tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: '{"city":' } }] }),
    );
    await first?.wanted();
    chat.stop();
    expect(await turn).toMatchObject({ outcome: "stopped" });
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
    const next = chat.send("Go on");
    second?.send(streamText("Yes."));
    second?.end();
    expect(await next).toMatchObject({ outcome: "complete" });
    expect((await (requests[1] as Request).json()).messages).toEqual([
      { role: "user", content: "Weather?" },
      {
        role: "assistant",
        content: "Let me",
        tool_calls: [{ id: "a", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "a", content: expect.stringContaining("before the call was complete") },
      { role: "user", content: "Go on" },
    ]);
  });

  test("aborts a running tool, and ignores its late result", async () => {
    let finish: (text: string) => void = () => {};
    let aborted = false;
    const slow = defineTool({
      name: "slow",
      inputSchema: { type: "object" },
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          finish = resolve;
          signal.addEventListener("abort", () => {
            aborted = true;
          });
        }),
    });
    const { chat, requests, sent } = createChat([streamCalls({ a: ["slow", "{}"] }), streamText("Fine.")], {
      tools: [slow],
    });
    const turn = chat.send("Go");
    await until(chat, hasCall("running"));
    await settled();
    chat.stop();
    expect(aborted).toBe(true);
    expect(await turn).toMatchObject({ outcome: "stopped" });
    finish("too late");
    await settled();
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
    expect(requests).toHaveLength(1);
    await chat.send("Go on");
    expect((await sent(1))?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("sends nothing for a late result of a client tool", async () => {
    const askUser = defineTool({ name: "ask", inputSchema: { type: "object" } });
    const { chat, requests, sent } = createChat([streamCalls({ a: ["ask", "{}"] }), streamText("Fine.")], {
      tools: [askUser],
    });
    await chat.send("Ask me");
    chat.stop();
    expect(await chat.addToolOutput("a", "too late")).toMatchObject({ outcome: "not-sent" });
    await settled();
    expect(requests).toHaveLength(1);
    await chat.send("Go on");
    expect((await sent(1))?.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("does not run calls of a truncated response", async () => {
    const cut = frame({
      tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
    });
    const { chat, requests } = createChat([cut, cut + frame({}, "length") + DONE], { tools: [weather] });
    expect(await chat.send("Weather?")).toMatchObject({ outcome: "truncated" });
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
    expect(await chat.retry()).toMatchObject({ outcome: "length" });
    expect(listCalls(chat)).toMatchObject([{ state: "cancelled" }]);
    expect(requests).toHaveLength(2);
  });
});
