import { models } from "@sluice/core/schemas";
import { expect, test } from "vitest";
import {
  type Chunk,
  complete,
  createFastEmulator,
  createLeapingClock,
  createRequest,
  joinText,
  listDeltas,
  post,
  readChunks,
  readMessage,
} from "./support.js";

test("a stream is server-sent events without caching", async () => {
  const { headers } = await post(createFastEmulator(), createRequest("hi", { stream: true }));
  expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(headers.get("x-request-id")).toMatch(/^req_/);
});

test("the first delta has the role, the last chunk the finish reason", async () => {
  const chunks = await readChunks(
    createFastEmulator(),
    createRequest("Tell me about tea", { model: "delta-5.3" }),
  );
  expect(chunks[0]?.choices[0]).toMatchObject({
    index: 0,
    delta: { role: "assistant" },
    finish_reason: null,
  });
  expect(chunks.at(-1)?.choices[0]).toEqual({ index: 0, delta: {}, finish_reason: "stop" });
  for (const chunk of chunks)
    expect(chunk).toMatchObject({ object: "chat.completion.chunk", model: "delta-5.3", id: chunks[0]?.id });
});

test.each(["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"])(
  "%s streams the same message that it sends without a stream",
  async (model) => {
    const deltas = listDeltas(
      await readChunks(createFastEmulator(), createRequest("Tell me about tea", { model })),
    );
    const message = await readMessage(createFastEmulator(), createRequest("Tell me about tea", { model }));
    expect(joinText(deltas)).toBe(message.content);
    expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe(
      message.reasoning_content ?? "",
    );
  },
);

test("all thinking comes before the first text", async () => {
  const deltas = listDeltas(await readChunks(createFastEmulator(), createRequest("Tell me about tea")));
  const lastThought = deltas.findLastIndex(({ reasoning_content }) => reasoning_content !== undefined);
  const firstText = deltas.findIndex(({ content }) => !!content);
  expect(lastThought).toBeGreaterThan(0);
  expect(firstText).toBe(lastThought + 1);
});

test("no delta holds half a character, and emoji families stay whole", async () => {
  const said = "Families: 👨‍👩‍👧‍👦 and 🧑🏽‍🚀, 你好，مرحبا، नमस्ते";
  const emulator = createFastEmulator({ chat: () => said });
  const deltas = listDeltas(await readChunks(emulator, createRequest("Who?")));
  expect(joinText(deltas)).toBe(said);
  expect(deltas.map(({ content }) => content)).toContain(" 👨‍👩‍👧‍👦");
  for (const { content } of deltas) expect(content ?? "").not.toMatch(/\p{Surrogate}/u);
});

const chats = Object.values(models).flatMap(({ id, kind }) => (kind === "chat" ? [id] : []));
test.each(chats)(
  "%s reports the usage of a stream in a separate last chunk, only on request, and null until then",
  async (model) => {
    const include = (include_usage: boolean) =>
      readChunks(createFastEmulator(), createRequest("hi", { model, stream_options: { include_usage } }));
    const chunks = await include(true);
    const last = chunks.pop() as Chunk;
    expect(last.choices).toEqual([]);
    expect(last.usage).toEqual((await complete(createFastEmulator(), createRequest("hi", { model }))).usage);
    for (const { usage } of chunks) expect(usage).toBeNull();
    for (const chunks of [
      await include(false),
      await readChunks(createFastEmulator(), createRequest("hi", { model })),
    ])
      for (const chunk of chunks) expect(chunk).not.toHaveProperty("usage");
  },
);

test("at speed 1, each delta comes after a pause, and the first after the longest", async () => {
  const clock = createLeapingClock();
  const chunks = await readChunks(createFastEmulator({ clock, speed: 1 }), createRequest("hi"));
  const [first, ...others] = clock.sleeps as [number, ...number[]];
  expect(clock.sleeps).toHaveLength(chunks.length - 2);
  expect(others.every((ms) => ms > 0 && ms < first)).toBe(true);
});
