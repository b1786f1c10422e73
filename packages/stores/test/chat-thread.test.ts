import { type ChatMessage, type ChatNode, createChatStore, memoryStorage } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient, frame, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat, until } from "./support/chat.js";

const responses = ["first", "second", "third", "fourth", "fifth"].map(streamText);

/** Describes the thread as texts, each after the text of its parent. */
function describeTree(nodes: readonly ChatNode[]): string[] {
  const contents = new Map(nodes.map(({ id, message }) => [id, message.content]));
  return nodes.map(({ parentId, message }) =>
    parentId === undefined ? message.content : `${contents.get(parentId)} > ${message.content}`,
  );
}

async function createBranchedChat() {
  const opened = createChat(responses);
  const { chat } = opened;
  await chat.send("Hello");
  const [question, response] = chat.getSnapshot().messages as [ChatMessage, ChatMessage];
  await chat.send("Go on");
  await chat.regenerate(response.id);
  await chat.edit(question.id, "Good day");
  return { ...opened, question, response };
}

test("getThread lists all branches depth first", async () => {
  const { chat, question } = await createBranchedChat();
  expect(describeTree(chat.getThread())).toEqual([
    "Hello",
    "Hello > first",
    "first > Go on",
    "Go on > second",
    "Hello > third",
    "Good day",
    "Good day > fourth",
  ]);
  const { branches } = chat.getThread()[0]?.message ?? {};
  expect(chat.getThread().filter(({ parentId }) => parentId === undefined)).toMatchObject(
    branches?.map((id) => ({ id })) ?? [],
  );
  expect(chat.getThread()[0]?.id).toBe(question.id);
});

test("getThread returns the shown messages as the same objects, in every branch", async () => {
  const { chat, response } = await createBranchedChat();
  for (const shown of [undefined, response.id]) {
    if (shown) chat.switchBranch(shown);
    const listed = chat.getThread().map(({ message }) => message);
    for (const message of chat.getSnapshot().messages) expect(listed).toContain(message);
  }
});

test("getThread lists the versions of a response with their question as parent", async () => {
  const { chat, question } = await createBranchedChat();
  const versions = chat.getThread().filter(({ parentId }) => parentId === question.id);
  expect(versions.map(({ message }) => message.content)).toEqual(["first", "third"]);
});

test("getThread returns the same array until a message changes, and then the same entries for all other messages", async () => {
  const { chat, question, response } = await createBranchedChat();
  const before = chat.getThread();
  expect(chat.getThread()).toBe(before);
  chat.switchBranch(response.id);
  expect(chat.getThread()).toBe(before);
  expect(chat.withOptions({ model: "delta-5.3" }).getThread()).toBe(before);
  await chat.send("More");
  const after = chat.getThread();
  expect(after).toHaveLength(before.length + 2);
  for (const node of before) expect(after).toContain(node);
  await chat.regenerate(chat.getSnapshot().messages.at(-1)?.id);
  expect(chat.getThread().find(({ id }) => id === question.id)).toBe(before[0]);
});

test("getThread returns a response in flight as it is shown", async () => {
  const { chat, connections } = createLiveChat({ throttleMs: 0 });
  const turn = chat.send("Hello");
  connections[0]?.send(frame({ content: "Gr" }));
  await until(chat, ({ messages }) => messages.at(-1)?.content === "Gr");
  expect(chat.getThread().at(-1)?.message).toBe(chat.getSnapshot().messages.at(-1));
  expect(chat.getThread().at(-1)?.message.content).toBe("Gr");
  chat.stop();
  await turn;
});

test("getThread omits an empty response that was requested again, as branches does", async () => {
  const { client } = createTestClient((_, nth) =>
    nth === 0 ? Response.json({}, { status: 400 }) : streamResponse(streamText("whole")),
  );
  const chat = createChatStore(client, { model: "delta-5.3" });
  await chat.send("Hello");
  await chat.retry();
  expect(describeTree(chat.getThread())).toEqual(["Hello", "Hello > whole"]);
});

test("getThread lists hidden branches after a reload, and nothing after reset", async () => {
  const storage = memoryStorage();
  const { client } = createTestClient((_, nth) => streamResponse(responses[nth - 1] ?? ""));
  const options = { id: "a", model: "delta-5.3", storage } as const;
  const before = createChatStore(client, options);
  await before.send("Hello");
  await before.regenerate();
  before.close();
  const chat = createChatStore(client, options);
  chat.subscribe(() => {});
  expect(chat.getThread()).toEqual([]);
  await expect.poll(() => chat.getSnapshot().persistence?.status).not.toBe("restoring");
  expect(describeTree(chat.getThread())).toEqual(["Hello", "Hello > first", "Hello > second"]);
  chat.reset();
  await expect.poll(() => chat.getThread()).toEqual([]);
});

test("getThread lists a thread of 20,000 messages in a row", () => {
  const { client } = createTestClient(() => streamResponse(""));
  const initialMessages = Array.from({ length: 20_000 }, (_, nth) => ({
    role: nth % 2 ? ("assistant" as const) : ("user" as const),
    content: String(nth),
  }));
  const nodes = createChatStore(client, { model: "delta-5.3", initialMessages }).getThread();
  expect(nodes).toHaveLength(20_000);
  expect(nodes.every(({ parentId }, nth) => parentId === nodes[nth - 1]?.id)).toBe(true);
});
