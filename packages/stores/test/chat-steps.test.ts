import { type ClientEvent, defineTool } from "@sluice/core";
import {
  type ChatStorage,
  type ChatStore,
  type ChatStoreOptions,
  createChatStore,
  memoryStorage,
} from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { createTestClient, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamCalls, streamText } from "../../core/test/support/reply-streams.js";
import { createChat } from "./support/chat.js";
import { readStored } from "./support/tabs.js";

const model = "alpha-v4.1-flash";

/** Kinds of failures, each with the outcome of a turn that fails in its first step and in a later step. */
const failures = {
  "a connection that is refused": ["not-sent", "error"],
  "headers that throw": ["not-sent", "error"],
  "a key that throws": ["not-sent", "error"],
  "a prompt that throws": ["not-sent", "error"],
  "a tool that can't be written": ["not-sent", "error"],
  "status 401": ["error", "error"],
  "status 429 with a long wait": ["error", "error"],
  "status 500": ["error", "error"],
  "a connection that is lost": ["error", "error"],
  "a cut": ["truncated", "truncated"],
} as const;
type Failure = keyof typeof failures;

/** Creates a chat with several responses, a call in each but the last, and one failure. */
function createFailingChat(failure: Failure | undefined, at: number, storage?: ChatStorage) {
  let responses = 0;
  let isOver = failure === undefined;
  const ran: string[] = [];
  const errors: Error[] = [];
  const fails = (kind: Failure) => {
    if (isOver || failure !== kind || responses !== at - 1) return false;
    isOver = true;
    return true;
  };
  const failIf = (kind: Failure) => {
    if (fails(kind)) throw new Error("no session");
  };
  const { client, requests } = createTestClient(respond, {
    retry: { limit: 0 },
    dangerouslyAllowBrowser: true,
    apiKey: () => {
      failIf("a key that throws");
      return "key-of-a-test";
    },
    headers: () => {
      failIf("headers that throw");
      return {};
    },
  });
  const look = defineTool({
    name: "look",
    inputSchema: { type: "object" },
    execute: (_, { toolCallId }) => {
      ran.push(toolCallId);
      return `seen ${toolCallId}`;
    },
  });
  const tools = [
    {
      ...look,
      definition: async () => {
        failIf("a tool that can't be written");
        return look.definition();
      },
    },
  ];
  const chat = createChatStore(client, {
    model,
    id: "a",
    tools,
    instructions() {
      failIf("a prompt that throws");
      return "Look well.";
    },
    onError: (error: Error) => errors.push(error),
    ...(storage && { storage }),
  } as ChatStoreOptions);
  return { chat, ran, requests, errors };

  function respond(): Response {
    if (fails("a connection that is refused"))
      throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    if (fails("a connection that is lost")) throw new TypeError("fetch failed");
    if (fails("status 401")) return Response.json({ error: { message: "who?" } }, { status: 401 });
    if (fails("status 429 with a long wait"))
      return Response.json(
        { error: { message: "later" } },
        { status: 429, headers: { "retry-after": "86400" } },
      );
    if (fails("status 500")) return Response.json({ error: { message: "broken" } }, { status: 500 });
    if (fails("a cut")) return streamResponse(frame({ content: "Well, " }));
    responses += 1;
    return streamResponse(
      responses < 3
        ? streamCalls({ [`call-${responses}`]: ["look", "{}"] }, { content: `Step ${responses}. ` })
        : streamText("All seen."),
    );
  }
}

/** Lists the texts and results of a thread with three steps. */
const whole = [
  "Look",
  "Step 1. ",
  "call-1 done seen call-1",
  "Step 2. ",
  "call-2 done seen call-2",
  "All seen.",
];

function listTexts(chat: ChatStore): string[] {
  return chat
    .getSnapshot()
    .messages.flatMap(({ content, toolCalls = [] }) => [
      content,
      ...toolCalls.map(({ id, state, output }) => `${id} ${state} ${output}`),
    ])
    .filter(Boolean);
}

const table = (Object.keys(failures) as Failure[]).flatMap((failure) =>
  [1, 2, 3].map((step) => [failure, step] as const),
);

describe("a turn of several steps", () => {
  test.each(table)(
    "A turn with %s in step %i keeps its earlier steps, and retry() continues",
    async (...row) => {
      const [failure, step] = row;
      const { chat, ran, requests, errors } = createFailingChat(failure, step);
      const turn = await chat.send("Look");
      const isFirst = step === 1;
      expect(turn.outcome).toBe(failures[failure][isFirst ? 0 : 1]);
      // the results of the earlier steps are in the thread and in the turn
      const before = whole.slice(0, 2 * step - 1);
      const cut = failure === "a cut" ? ["Well, "] : [];
      expect(listTexts(chat)).toEqual([...before, ...cut]);
      const called = turn.messages.filter(({ outcome }) => outcome === "tool-calls");
      expect(called.map(({ content }) => content)).toEqual(before.filter((text) => text.startsWith("Step")));
      expect(ran).toHaveLength(step - 1);

      await settled();
      expect(errors).toEqual([turn.error]);
      expect(chat.getSnapshot()).toMatchObject({ status: "error", error: turn.error });
      const { billing, message } = turn.error as Error & { billing?: string };
      if (!isFirst) {
        expect(billing).toBe("maybe");
        expect(message).not.toMatch(/nothing was sent/i);
      } else if (turn.outcome === "not-sent") expect(["none", undefined]).toContain(billing);

      const sent = requests.length;
      expect(await chat.retry()).toMatchObject({ outcome: "complete" });
      expect(listTexts(chat)).toEqual(whole);
      expect(requests.length - sent).toBe(4 - step);
      expect(ran).toEqual(["call-1", "call-2"]);
      expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    },
  );

  test("The response before a failed step shows the error, even after a reload, until a retry", async () => {
    const storage = memoryStorage();
    const { chat } = createFailingChat("a connection that is refused", 2, storage);
    const { error } = await chat.send("Look");
    expect(chat.getSnapshot().messages.at(-1)?.error).toBe(error);
    await settled();
    const { chat: later } = await readStored(storage);
    expect(later.getSnapshot().messages).toMatchObject([
      { content: "Look" },
      {
        content: "Step 1. ",
        outcome: "tool-calls",
        error: { name: "ConnectionError", message: error?.message },
      },
    ]);
    await chat.retry();
    expect(chat.getSnapshot().messages.some(({ error }) => error)).toBe(false);
  });

  test("A failing storage does not change a turn of several steps", async () => {
    const storage = memoryStorage();
    const broken = { ...storage, write: () => Promise.reject(new Error("full")) };
    const { chat, ran } = createFailingChat(undefined, 0, broken);
    expect(await chat.send("Look")).toMatchObject({ outcome: "complete" });
    expect(listTexts(chat)).toEqual(whole);
    expect(ran).toHaveLength(2);
  });

  test("An error keeps its class, its fields and the error of its request", async () => {
    const { chat } = createFailingChat("status 401", 2);
    const { error } = await chat.send("Look");
    expect(error).toMatchObject({
      name: "APIError",
      status: 401,
      billing: "maybe",
      message: expect.stringMatching(/stay.*billed.*who\?/),
      cause: { name: "APIError", billing: "none" },
    });
    expect(error).toBeInstanceOf(Error);
  });

  test("A request that is not sent after an approved call is sent by retry(), and the call runs once", async () => {
    let nth = 0;
    const ran: string[] = [];
    const { client } = createTestClient(
      () => {
        nth += 1;
        if (nth === 2) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
        return streamResponse(nth === 1 ? streamCalls({ a: ["pay", "{}"] }) : streamText("Paid."));
      },
      { retry: { limit: 0 } },
    );
    const pay = defineTool({
      name: "pay",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: () => void ran.push("pay"),
    });
    const chat = createChatStore(client, { model, tools: [pay] });
    await chat.send("Pay");
    expect(await chat.approve("a")).toMatchObject({ outcome: "error", error: { billing: "maybe" } });
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
    expect(ran).toEqual(["pay"]);
  });

  test("Options that throw while calls are checked or run fail these calls, and the text stays", async () => {
    let isBroken = false;
    const { client } = createTestClient((_, nth) => {
      isBroken = nth === 1;
      return streamResponse(
        nth === 1 ? streamCalls({ a: ["look", "{}"] }, { content: "Well, " }) : streamText("Ok."),
      );
    });
    const chat = createChatStore(client, () => {
      if (isBroken) throw new Error("in options");
      return { model };
    });
    // the options are read again for the callbacks
    chat.subscribe(() => {
      if (chat.getSnapshot().status === "error") isBroken = false;
    });
    expect(await chat.send("Look")).toMatchObject({
      outcome: "error",
      error: { message: expect.stringMatching(/in options/) },
      messages: [{}, { content: "Well, ", toolCalls: [{ state: "failed" }] }],
    });
    expect(await chat.retry()).toMatchObject({ outcome: "complete" });
  });
});

describe("the limit of steps", () => {
  const look = defineTool({ name: "look", inputSchema: { type: "object" }, execute: () => "nothing" });
  const looks = streamCalls({ a: ["look", "{}"] });

  test("The limit is the outcome of the turn and its last response, and emits a warning", async () => {
    const events: ClientEvent[] = [];
    const { client, requests } = createTestClient(() => streamResponse(looks), {
      onEvent: (event) => events.push(event),
    });
    const chat = createChatStore(client, { model, tools: [look], maxSteps: 3 });
    const turn = await chat.send("Look");
    expect(turn).toMatchObject({ outcome: "step-limit" });
    expect(turn.error).toBeUndefined();
    expect(turn.messages.map(({ outcome }) => outcome)).toEqual([
      undefined,
      "tool-calls",
      "tool-calls",
      "step-limit",
    ]);
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(events.filter(({ type }) => type === "warning")).toMatchObject([
      {
        issue: { path: "maxSteps", rule: "chat.max-steps", message: expect.stringContaining("3 responses") },
      },
    ]);
    await settled();
    expect(requests).toHaveLength(3);
  });

  test("The limit is 8 steps by default, and retry() allows exactly as many again", async () => {
    const { chat, requests } = createChat([looks], { tools: [look] });
    expect(await chat.send("Look")).toMatchObject({ outcome: "step-limit" });
    expect(requests).toHaveLength(8);
    expect(await chat.retry()).toMatchObject({ outcome: "step-limit" });
    expect(requests).toHaveLength(16);
  });

  test("The limit survives a reload, and retry() continues with the results", async () => {
    const storage = memoryStorage();
    const { chat } = createChat([looks], { tools: [look], maxSteps: 2, id: "a", storage });
    await chat.send("Look");
    await settled();
    const later = await readStored(storage, { tools: [look] });
    expect(later.chat.getSnapshot().messages.at(-1)).toMatchObject({ outcome: "step-limit" });
    const turn = later.chat.retry();
    later.respond(0, streamText("Nothing."));
    expect(await turn).toMatchObject({ outcome: "complete" });
    const { messages } = await (later.requests[0] as Request).json();
    expect(messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    expect(later.chat.getSnapshot().messages.map(({ outcome }) => outcome)).not.toContain("step-limit");
  });
});
