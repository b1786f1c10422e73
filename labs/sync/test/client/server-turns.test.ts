import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { open, openDevice, stopAll } from "../../../../tests/support/server-turns.ts";

// a server looks for readers that left without a word, and here it is gone before
beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(async () => {
  await stopAll();
  vi.useRealTimers();
});

const words = Array.from({ length: 60 }, (_, nth) => `word${nth}`).join(" ");
const PATIENCE = { interval: 20 };

test("One device asks and is closed; the other approves the call, sees the end, and each step is paid for once", async () => {
  const asked: unknown[] = [];
  const server = await open((request) => {
    asked.push(request);
    return request.messages.at(-1)?.role === "tool"
      ? "It is ordered"
      : { toolCalls: [{ name: "order", arguments: { title: "Reef" } }] };
  });
  const phone = openDevice(server.url);
  expect(await phone.chat.send("Order the book")).toMatchObject({ outcome: "tool-calls" });
  phone.leave();
  const laptop = openDevice(server.url);
  await expect.poll(() => laptop.chat.getSnapshot().pendingActions, PATIENCE).toHaveLength(1);
  expect(server.orders).toEqual([]);
  const [action] = laptop.chat.getSnapshot().pendingActions;
  expect(await laptop.chat.approve(action?.toolCallId ?? "")).toMatchObject({ outcome: "complete" });
  expect(laptop.texts()).toEqual(["Order the book", "", "It is ordered"]);
  expect([server.orders, asked.length]).toEqual([[{ title: "Reef" }], 2]);
  const again = openDevice(server.url);
  await expect.poll(again.texts, PATIENCE).toEqual(["Order the book", "", "It is ordered"]);
  expect(
    again
      .listMessages()
      .map(({ origin }) => origin)
      .slice(1),
  ).toEqual(["server", "server"]);
});

test("One device is closed while the answer streams; the other sees it grow from its start to its end", async () => {
  let asked = 0;
  const server = await open(() => {
    asked += 1;
    return words;
  });
  const phone = openDevice(server.url);
  const laptop = openDevice(server.url);
  const turn = phone.chat.send("Tell");
  await expect.poll(() => phone.texts()[1]?.startsWith("word0"), PATIENCE).toBe(true);
  phone.leave();
  await expect.poll(() => laptop.listMessages()[1]?.outcome, PATIENCE).toBe("complete");
  expect(laptop.texts()).toEqual(["Tell", words]);
  expect(asked).toBe(1);
  // at its end, or before
  expect(["complete", "truncated"]).toContain((await turn).outcome);
});

test("A turn that is stopped while its tool runs is over on all devices, and the chat goes on", async () => {
  const server = await open(({ messages }) =>
    messages.at(-1)?.content === "Walk" ? { toolCalls: [{ name: "walk", arguments: {} }] } : "Here",
  );
  const phone = openDevice(server.url);
  const laptop = openDevice(server.url);
  const turn = phone.chat.send("Walk");
  await expect.poll(() => laptop.listMessages()[1]?.toolCalls?.[0]?.state, PATIENCE).toBe("running");
  laptop.chat.stop();
  expect(await turn).toMatchObject({ outcome: "stopped" });
  for (const { chat, listMessages } of [phone, laptop]) {
    await expect.poll(() => chat.getSnapshot().status, PATIENCE).toBe("ready");
    expect(listMessages()[1]?.toolCalls).toMatchObject([{ state: "cancelled" }]);
  }
  expect(await laptop.chat.send("Where are you?")).toMatchObject({ outcome: "complete" });
});

test("A chat that is closed leaves no promise open: its turns go on at the server, and what waits is given back", async () => {
  const server = await open(({ messages }) =>
    messages.at(-1)?.role === "tool" ? "There" : { toolCalls: [{ name: "walk", arguments: {} }] },
  );
  const phone = openDevice(server.url, { whenBusy: "queue" });
  const laptop = openDevice(server.url);
  const turns = [phone.chat.send("Walk"), phone.chat.send("Two")];
  await expect.poll(() => laptop.listMessages()[1]?.toolCalls?.[0]?.state, PATIENCE).toBe("running");
  phone.leave();
  expect(await Promise.all(turns)).toMatchObject([
    { outcome: "truncated", messages: [{ content: "Walk" }], error: { name: "AbortError" } },
    { outcome: "not-sent", messages: [], error: { name: "AbortError" } },
  ]);
  expect(phone.chat.getSnapshot().error).toBeUndefined();
  expect(laptop.listMessages()[1]?.toolCalls).toMatchObject([{ state: "running" }]);
  laptop.chat.stop();
  await expect.poll(() => laptop.listMessages()[1]?.toolCalls).toMatchObject([{ state: "cancelled" }]);
});

test("A message that is stopped before its page has handed it over is given back, and is never asked", async () => {
  const asked: unknown[] = [];
  const server = await open(({ messages }) => {
    asked.push(messages.at(-1)?.content);
    return "Here";
  });
  const { chat, listMessages } = openDevice(server.url);
  // the chat is not read yet, and neither is the code for turns of the server
  const turn = chat.send("Walk");
  chat.stop();
  expect(await turn).toMatchObject({ outcome: "not-sent", messages: [], error: { name: "AbortError" } });
  expect(await chat.send("Where?")).toMatchObject({ outcome: "complete" });
  const next = chat.send("And now?");
  chat.stop();
  expect(await next).toMatchObject({ error: { name: "AbortError" } });
  expect([asked, listMessages().map(({ content }) => content)]).toEqual([["Where?"], ["Where?", "Here"]]);
});

test("Two clicks at once hand over one message; the second one waits, and a stop gives it back", async () => {
  const asked: unknown[] = [];
  const server = await open(({ messages }) => {
    const question = messages.at(-1)?.content;
    asked.push(question);
    return question === "Walk" ? { toolCalls: [{ name: "walk", arguments: {} }] } : "Here";
  });
  const { chat, listMessages } = openDevice(server.url, { whenBusy: "queue" });
  const turns = [chat.send("Walk"), chat.send("Two")];
  await expect.poll(() => listMessages()[1]?.toolCalls?.[0]?.state, PATIENCE).toBe("running");
  chat.stop();
  expect(await Promise.all(turns)).toMatchObject([
    { outcome: "stopped" },
    { outcome: "not-sent", messages: [], error: { name: "AbortError" } },
  ]);
  expect(await chat.send("Three")).toMatchObject({ outcome: "complete" });
  expect(asked).toEqual(["Walk", "Three"]);
});

test("A message whose answer is lost on its way is handed over again, and is asked once", async () => {
  let asked = 0;
  const server = await open(() => `Answer ${++asked}`);
  let lost = 0;
  const { chat, texts } = openDevice(server.url, {
    async send(request) {
      const response = await fetch(request);
      if (!request.url.endsWith("/turns") || lost >= 2) return response;
      lost += 1;
      await response.body?.cancel();
      throw new TypeError("fetch failed");
    },
  });
  expect(await chat.send("Hello")).toMatchObject({ outcome: "complete" });
  expect([texts(), lost, asked]).toEqual([["Hello", "Answer 1"], 2, 1]);
});

test("`regenerate` shows the new answer on its device, and resolves though the user looks at the old one", async () => {
  let asked = 0;
  const server = await open(() => `${++asked} ${words}`);
  const phone = openDevice(server.url);
  await phone.chat.send("Tell");
  const old = phone.listMessages()[1]?.id ?? "";
  phone.chat.switchBranch(old);
  const turn = phone.chat.regenerate();
  await expect.poll(() => phone.texts()[1]?.startsWith("2 word0"), PATIENCE).toBe(true);
  phone.chat.switchBranch(old);
  expect(await turn).toMatchObject({ outcome: "complete", messages: [{}, { content: `2 ${words}` }] });
  expect(phone.texts()).toEqual(["Tell", `1 ${words}`]);
});
