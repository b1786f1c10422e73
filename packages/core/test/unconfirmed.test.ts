import { completeChat, defineTool, streamChat, toResponse } from "@sluice/core";
import { describe, expect, test } from "vitest";
import { createChat } from "../../stores/test/support/chat.js";
import { createTestClient, DONE, event, frame, question, streamResponse } from "./support/gateway.js";
import { streamCalls, streamText } from "./support/reply-streams.js";

/* `[DONE]` without a `finish_reason` does not confirm that the response is whole. */

const half = frame({ content: "The dose is 5" }) + DONE;
const completion = (finish_reason: unknown) => ({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "The dose is 5" }, finish_reason }],
});

/** A client and the rules of its warnings. */
function collectWarnings(respond: () => Response) {
  const rules: string[] = [];
  const { client } = createTestClient(respond, {
    onEvent: (each) => {
      if (each.type === "warning") rules.push(each.issue.rule);
      if (each.type === "end") rules.push(each.outcome);
    },
  });
  return { client, rules };
}

describe("A response without a finish_reason", () => {
  const unconfirmed = { outcome: "unconfirmed", finishReason: null, message: { content: "The dose is 5" } };

  test.each([
    ["that ended with [DONE]", () => streamResponse(half)],
    ["that has empty ones", () => streamResponse(frame({ content: "The dose is 5" }, "") + DONE)],
    ["that is a whole completion", () => Response.json(completion(null))],
  ])("%s resolves as unconfirmed, with a warning and an event", async (_, respond) => {
    const { client, rules } = collectWarnings(respond);
    expect(await streamChat(client, question).result()).toMatchObject(unconfirmed);
    expect(rules).toEqual(["chat.unconfirmed", "unconfirmed"]);
  });

  test.each([null, undefined, ""])(
    "A finish_reason of %j leaves a response of completeChat unconfirmed, too",
    async (reason) => {
      const { client, rules } = collectWarnings(() => Response.json(completion(reason)));
      expect(await completeChat(client, question)).toMatchObject(unconfirmed);
      expect(rules).toEqual(["chat.unconfirmed", "unconfirmed"]);
    },
  );

  test("has the outcome in its last delta, and in the response that passes it on", async () => {
    const { client } = collectWarnings(() => streamResponse(half));
    const outcomes: string[] = [];
    for await (const delta of streamChat(client, question))
      if (delta.type === "finish") outcomes.push(delta.outcome);
    expect(outcomes).toEqual(["unconfirmed"]);
    const response = await toResponse(streamChat(client, question));
    expect(await streamChat(collectWarnings(() => response).client, question).result()).toMatchObject(
      unconfirmed,
    );
  });

  test("keeps its usage", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const { client } = collectWarnings(() =>
      streamResponse(frame({ content: "Hi" }) + event({ choices: [], usage }) + DONE),
    );
    expect(await streamChat(client, question).result()).toMatchObject({ outcome: "unconfirmed", usage });
  });

  test("ends a turn of a chat without an error, and the chat continues", async () => {
    const { chat, sent } = createChat([half, streamText(" mg.")]);
    const turn = await chat.send("How much?");
    expect(turn).toMatchObject({ outcome: "unconfirmed", messages: [{}, { outcome: "unconfirmed" }] });
    expect(turn.error).toBeUndefined();
    expect(chat.getSnapshot().status).toBe("ready");
    expect(await chat.send("Continue")).toMatchObject({ outcome: "complete" });
    expect((await sent(1)).map(({ content }) => content)).toEqual(["How much?", "The dose is 5", "Continue"]);
  });

  test("can be retried", async () => {
    const { chat } = createChat([half, streamText("The dose is 50 mg.")]);
    await chat.send("How much?");
    expect(await chat.retry()).toMatchObject({ messages: [{ content: "The dose is 50 mg." }] });
  });
});

describe("The tools of a response", () => {
  const paid: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    inputSchema: { type: "object" },
    execute: (input) => {
      paid.push(input);
      return "paid";
    },
  });
  const whole = { index: 0, id: "a", function: { name: "pay", arguments: '{"to":"x"}' } };
  const cut = { index: 1, id: "b", function: { name: "pay", arguments: '{"to":' } };
  const called = (calls: object[], end: string) => frame({ tool_calls: calls }) + end;
  const chatWith = (text: string, tool = pay) => {
    paid.length = 0;
    return createChat([text, streamText("Done.")], { tools: [tool] });
  };

  test.each([
    ["whole calls", [whole]],
    ["a call that is cut", [whole, cut]],
    ["a call without arguments", [{ index: 0, id: "a", function: { name: "pay" } }]],
  ])("do not run without a finish_reason: %s", async (_, calls) => {
    const { chat, requests } = chatWith(called(calls, DONE));
    const turn = await chat.send("Pay x");
    expect(turn.outcome).toBe("unconfirmed");
    expect(turn.messages[1]?.toolCalls?.map(({ state }) => state)).toEqual(calls.map(() => "cancelled"));
    expect([paid, requests.length, chat.getSnapshot().pendingActions]).toEqual([[], 1, []]);
    // the next request has a result for each call
    expect(await chat.send("Go on")).toMatchObject({ outcome: "complete" });
  });

  test.each(["tool_calls", "stop"])("do not run beside a truncated call, even after %s", async (reason) => {
    const { chat, sent } = chatWith(called([whole, cut], frame({}, reason) + DONE));
    const turn = await chat.send("Pay x");
    expect(turn.messages[1]?.toolCalls).toMatchObject([
      { state: "cancelled", error: expect.stringContaining("not run") },
      { state: "failed", error: expect.stringContaining("not JSON") },
    ]);
    expect(paid).toEqual([]);
    // the model learns of both, and may call again
    expect((await sent(1)).filter(({ role }) => role === "tool")).toHaveLength(2);
  });

  test("do not wait for an approval beside a truncated call", async () => {
    const careful = defineTool({ name: "pay", inputSchema: { type: "object" }, needsApproval: true });
    const { chat } = chatWith(called([whole, cut], frame({}, "tool_calls") + DONE), careful as typeof pay);
    await chat.send("Pay x");
    expect(chat.getSnapshot().pendingActions).toEqual([]);
  });

  test("run if all calls are complete", async () => {
    const { chat } = chatWith(streamCalls({ a: ["pay", '{"to":"x"}'], b: ["pay", ""] }));
    expect(await chat.send("Pay x")).toMatchObject({ outcome: "complete" });
    expect(paid).toEqual([{ to: "x" }, {}]);
  });
});
