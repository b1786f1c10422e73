import { createChatStore, createConversationList, memoryStorage } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient, settled, stoppedClock, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { until } from "./support/chat.js";

/* The list without React. The tests of `useConversations` cover its other features. */

const model = "delta-5.3";

function openPage(storage = memoryStorage()) {
  const { client, requests } = createTestClient(() => streamResponse(streamText("Hello")), {
    clock: stoppedClock(),
  });
  const list = createConversationList(client, { storage });
  list.subscribe(() => {});
  const titles = () => list.getSnapshot().conversations.map(({ title }) => title);
  const open = (id: string) => createChatStore(client, { id, model, storage });
  return { client, storage, requests, list, titles, open };
}

test("A conversation is listed from the first question of its chat on, and after a reload", async () => {
  const { list, titles, open, storage } = openPage();
  const id = list.create();
  const chat = open(id);
  await settled();
  expect(titles()).toEqual([]);
  const turn = chat.send("Why is the sky blue?");
  await until(list, ({ conversations }) => conversations[0]?.status === "responding");
  await turn;
  expect(list.getSnapshot().conversations).toMatchObject([
    { id, title: "Why is the sky blue?", status: "ready", isPinned: false },
  ]);
  list.update(id, { title: "Sky", isPinned: true });
  list.update(id, { title: " " });
  await settled();
  const later = openPage(storage);
  await until(later.list, ({ isRestoring }) => !isRestoring);
  expect(later.list.getSnapshot()).toMatchObject({
    conversations: [{ id, title: "Sky", isPinned: true }],
  });
  expect(await later.list.search("hello")).toMatchObject([{ conversation: { id }, excerpt: "Hello" }]);
});

test("A chat of an earlier page is listed once it is shown, in any order of chat and list", async () => {
  for (const isOlder of [true, false]) {
    const { list, titles, open } = openPage();
    const before = isOlder ? open("a") : undefined;
    before?.subscribe(() => {});
    await settled();
    list.show("a");
    const chat = before ?? open("a");
    await chat.send("Hi");
    expect(titles()).toEqual(["Hi"]);
  }
});

test("Removing a conversation stops its chat, and the list shows a closed chat that is used again", async () => {
  const { list, titles, open } = openPage();
  const id = list.create();
  const chat = open(id);
  await chat.send("One");
  chat.close();
  await chat.send("Two");
  const [conversation] = list.getSnapshot().conversations;
  expect([conversation?.title, conversation?.status]).toEqual(["One", "ready"]);
  const turn = chat.send("Three");
  await settled();
  list.remove(id);
  expect((await turn).outcome).not.toBe("error");
  expect([titles(), list.getSnapshot().removed.length]).toEqual([[], 1]);
  list.restore(id);
  expect(titles()).toEqual(["One"]);
});
