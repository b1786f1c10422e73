import { type ClientOptions, createChatStore, memoryStorage } from "@sluice/core";
import { expect, test } from "vitest";
import { textAnswer } from "./support/chat.js";
import { clientOf, settled, stoppedClock, streamAnswer } from "./support/gateway.js";

/** A chat over a storage that takes no record before the test says so. */
function opened(options: Partial<ClientOptions> = {}) {
  const clock = stoppedClock();
  const memory = memoryStorage();
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const write: typeof memory.write = (...given) => released.then(() => memory.write(...given));
  const storedWhenSent: unknown[] = [];
  const answer = async () => {
    storedWhenSent.push(await keysIn());
    return streamAnswer(textAnswer("Hi"));
  };
  const { client, requests } = clientOf(answer, { clock, ...options });
  const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage: { ...memory, write } });
  const keysIn = async () =>
    [...(await memory.read("chat/a")).values()].flatMap(
      (record) => (record as { message?: { idempotencyKey?: string } }).message?.idempotencyKey ?? [],
    );
  return { chat, clock, requests, release: () => release(), keysIn, storedWhenSent };
}

const keyOf = (request: Request | undefined) => request?.headers.get("idempotency-key");

test("The request of an answer leaves after its key is written, so that a kill at any line leaves the key", async () => {
  const { chat, requests, release, keysIn, storedWhenSent } = opened();
  const turn = chat.send("Hello");
  await settled();
  expect(requests).toHaveLength(0);
  release();
  expect((await turn).outcome).toBe("complete");
  expect(storedWhenSent).toEqual([[keyOf(requests[0])]]);
  await settled();
  expect(await keysIn()).toEqual([]);
});

test("A storage that takes nothing delays an answer by half a second, and no more", async () => {
  const { chat, clock, requests } = opened();
  const turn = chat.send("Hello");
  await clock.advance(499);
  expect(requests).toHaveLength(0);
  await clock.advance(1);
  expect(requests).toHaveLength(1);
  expect((await turn).outcome).toBe("complete");
});

test("An answer that is stopped while its key is written is never sent", async () => {
  const { chat, requests, release } = opened();
  const turn = chat.send("Hello");
  await settled();
  chat.stop();
  release();
  expect((await turn).outcome).toBe("stopped");
  await settled();
  expect(requests).toHaveLength(0);
});

test("A client with the gateway's key waits for no storage, and keeps no key", async () => {
  const { chat, requests } = opened({ apiKey: "sk-gateway" });
  expect((await chat.send("Hello")).messages.at(-1)).not.toHaveProperty("idempotencyKey");
  expect(requests.map(keyOf)).toEqual([null]);
});

test.each(["a\nb", "", 7, null, "k".repeat(256)])(
  "A stored key that no header can have is left out: %j",
  async (idempotencyKey) => {
    const { client, requests } = clientOf(() => streamAnswer(textAnswer("Hi")));
    const storage = memoryStorage();
    const message = { role: "assistant", content: "", outcome: "interrupted", idempotencyKey };
    await storage.write("chat/a", new Map([["m-1", { message, parent: null, revision: 1 }]]));
    const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage, instructions: "Be brief" });
    const turn = await chat.retry();
    expect([turn.outcome, keyOf(requests[0])]).toEqual(["complete", expect.stringMatching(/^[\d-]{7,}$/)]);
  },
);
