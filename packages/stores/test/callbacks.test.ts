import { watchVideoTask } from "@sluice/core";
import { type ChatStoreOptions, createChatStore, createImageStore, memoryStorage } from "@sluice/stores";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTestClient, DONE, frame, settled, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";

/** Messages of the errors that a store throws in a microtask, where the platform would report them as uncaught. */
const uncaught: unknown[] = [];

beforeEach(() => {
  uncaught.length = 0;
  const { queueMicrotask } = globalThis;
  vi.stubGlobal("queueMicrotask", (task: () => void) =>
    queueMicrotask(() => {
      try {
        task();
      } catch (error) {
        uncaught.push((error as Error).message);
      }
    }),
  );
});
afterEach(() => vi.unstubAllGlobals());

/** Creates a callback that throws `message` at each call, as an app with a mistake does. */
function createBrokenCallback(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

function createChat(response: string, options: Partial<ChatStoreOptions> = {}) {
  const { client, requests } = createTestClient(() => streamResponse(response));
  const chat = createChatStore(client, { model: "delta-5.3", ...options } as ChatStoreOptions);
  return { chat, requests };
}

test.each([0, 50])(
  "a subscriber that throws does not end the response or stop other subscribers, throttleMs %d",
  async (throttleMs) => {
    const { chat, requests } = createChat(
      frame({ content: "Hel" }) + frame({ content: "lo" }) + frame({}, "stop") + DONE,
      { throttleMs },
    );
    let seen = "";
    chat.subscribe(createBrokenCallback("in render"));
    chat.subscribe(() => {
      seen = chat.getSnapshot().messages.at(-1)?.content ?? "";
    });
    expect(await chat.send("Hello?")).toMatchObject({
      outcome: "complete",
      messages: [{}, { content: "Hello" }],
    });
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", error: undefined });
    expect(seen).toBe("Hello");
    expect(requests).toHaveLength(1);
    await settled();
    expect(new Set(uncaught)).toEqual(new Set(["in render"]));
  },
);

test("an onError that throws does not stop onFinish", async () => {
  const finished: unknown[] = [];
  const { chat } = createChat(frame({ content: "Hel" }), {
    onError: createBrokenCallback("in onError"),
    onFinish: ({ outcome }) => finished.push(outcome),
  });
  expect(await chat.send("Hello?")).toMatchObject({ outcome: "truncated" });
  await settled();
  expect(finished).toEqual(["truncated"]);
  expect(uncaught).toEqual(["in onError"]);
});

test("options that throw end the turn as not-sent", async () => {
  const { client, requests } = createTestClient(() => streamResponse(streamText("Hello")));
  let isBroken = false;
  const chat = createChatStore(client, () => {
    if (isBroken) throw new Error("in options");
    return { model: "delta-5.3" };
  });
  isBroken = true;
  expect(await chat.send("Hello?")).toMatchObject({ outcome: "not-sent", error: { message: "in options" } });
  expect(requests).toHaveLength(0);
});

test("an onPoll that throws does not end the watch", async () => {
  const { client } = createTestClient(() =>
    Response.json({
      code: "success",
      message: "",
      data: { status: "SUCCESS", result_url: "https://cdn.test/v" },
    }),
  );
  const task = await watchVideoTask(client, "t-1", { onPoll: createBrokenCallback("in onPoll") }).result();
  expect(task).toMatchObject({ state: "succeeded" });
  await settled();
  expect(uncaught).toEqual(["in onPoll"]);
});

test("a subscriber that is added during a notification is called from the next change on", () => {
  const { chat } = createChat("");
  let changes = 0;
  const notifiedAt: number[] = [];
  chat.subscribe(() => {
    changes += 1;
    if (changes === 1) chat.subscribe(() => notifiedAt.push(changes));
  });
  chat.setMessages([]);
  chat.setMessages([]);
  expect(notifiedAt[0]).toBe(2);
});

test("a subscriber of an image store that throws does not stop the others", async () => {
  const { client } = createTestClient(() =>
    Response.json({ model: "m", created: 1, data: [{ url: "https://cdn.test/1.png", size: "2048x2048" }] }),
  );
  const images = createImageStore(client, { model: "gamma-image-5-0-260128" });
  const seen: string[] = [];
  images.subscribe(createBrokenCallback("in render"));
  images.subscribe(() => seen.push(images.getSnapshot().status));
  expect(await images.generate({ prompt: "A reef" })).toMatchObject({ status: "success" });
  expect(seen).toEqual(["pending", "success"]);
});

test("a watcher of a memory storage that throws does not stop the others", async () => {
  const storage = memoryStorage();
  const seen: unknown[] = [];
  storage.subscribe("notes", createBrokenCallback("in subscribe"));
  storage.subscribe("notes", (changes) => seen.push(...changes));
  await storage.write("notes", new Map([["a", 1]]));
  await settled();
  expect(seen).toEqual([["a", 1]]);
  expect(uncaught).toEqual(["in subscribe"]);
});

test.each(["tool_calls", "function_call"])(
  "finish_reason %s without a call sends no further request",
  async (reason) => {
    const { chat, requests } = createChat(frame({ content: "Hello" }) + frame({}, reason) + DONE);
    await chat.send("Hello?");
    expect(requests).toHaveLength(1);
    expect(chat.getSnapshot().messages).toMatchObject([{ role: "user" }, { content: "Hello" }]);
  },
);

test.each([
  ["error", "Hel"],
  ["tool_calls", ""],
])("a response that ends with finish_reason %s is shown as failed, with its text", async (reason, text) => {
  const failed: Error[] = [];
  const onError = (error: Error) => failed.push(error);
  const { chat } = createChat(frame({ content: text }) + frame({}, reason) + DONE, { onError });
  const turn = await chat.send("Hello?");
  const error = { name: "StreamError", reason: "server-error", code: reason, partial: { content: text } };
  expect(turn).toMatchObject({ outcome: "error", error });
  expect(chat.getSnapshot()).toMatchObject({ status: "error", error: turn.error });
  expect(failed).toEqual([turn.error]);
});
