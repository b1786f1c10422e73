import { createChatStore, customRunner, memoryStorage, type TurnRunner } from "@sluice/stores";
import { expect, test } from "vitest";
import { createTestClient, settled } from "../../core/test/support/gateway.js";

const message = (id: string, content: string, more: object = {}) =>
  ({ id, role: "assistant", content, createdAt: 2, ...more }) as const;

function openChat(runner: TurnRunner, more: object = {}) {
  const { client, requests } = createTestClient(() => Response.error());
  const chat = createChatStore(client, {
    id: "c",
    model: "delta-5.3",
    runner: customRunner(runner),
    ...more,
  });
  chat.subscribe(() => {});
  return { chat, requests };
}

test("a plain object is refused as a runner, in words that name customRunner()", () => {
  const { client } = createTestClient(() => Response.error());
  const runner = { run: async () => ({}) } as never;
  expect(() => createChatStore(client, { model: "delta-5.3", runner })).toThrow("give customRunner()");
});

test("a runner responds to a question, and the page requests nothing", async () => {
  const { chat, requests } = openChat({
    async run({ id, messages, model }, { put }) {
      const text = `${model}: ${messages.at(-1)?.content}`;
      put(message(id, "delta"));
      put(message(id, text, { outcome: "complete" }));
      return {};
    },
  });
  const turn = await chat.send("Hi");
  expect(turn).toMatchObject({
    outcome: "complete",
    messages: [{ content: "Hi" }, { content: "delta-5.3: Hi" }],
  });
  expect(chat.getSnapshot()).toMatchObject({ status: "ready", messages: turn.messages });
  await chat.regenerate();
  expect(chat.getSnapshot().messages.at(-1)?.branches?.length).toBe(2);
  expect(requests).toEqual([]);
});

test("a runner's turn streams, and stop() ends it at once and tells the runner", async () => {
  const stopped: string[] = [];
  const { chat } = openChat({
    run: ({ id }, { put }) => {
      put(message(id, "partly"));
      return new Promise(() => {});
    },
    stop: ({ question }) => void stopped.push(question),
  });
  const turn = chat.send("Hi");
  await expect.poll(() => chat.getSnapshot().status).toBe("streaming");
  chat.stop();
  expect(chat.getSnapshot().status).toBe("ready");
  expect((await turn).outcome).toBe("stopped");
  expect(stopped).toEqual([chat.getSnapshot().messages[0]?.id]);
});

test("a runner that throws ends the turn as not-sent, and a retry has the same id", async () => {
  const ids: string[] = [];
  const { chat } = openChat({
    async run({ id }) {
      ids.push(id);
      throw new Error("no runner is free");
    },
  });
  expect(await chat.send("Hi")).toMatchObject({
    outcome: "not-sent",
    error: { message: "no runner is free" },
  });
  expect(chat.getSnapshot().status).toBe("error");
  await chat.retry();
  expect(new Set(ids).size).toBe(1);
});

test("a reload continues a runner's turn by its id", async () => {
  const storage = memoryStorage();
  const ids: string[] = [];
  const runner: TurnRunner = {
    async run({ id }, { put }) {
      ids.push(id);
      if (ids.length > 1) {
        put(message("r", "whole", { outcome: "complete" }));
        return {};
      }
      put(message("r", "part"));
      return new Promise(() => {});
    },
  };
  const first = openChat(runner, { storage });
  const turn = first.chat.send("Hi");
  await settled();
  first.chat.close();
  expect(await turn).toMatchObject({ outcome: "truncated", error: { name: "AbortError" } });
  const second = openChat(runner, { storage });
  await expect.poll(() => second.chat.getSnapshot().messages.at(-1)?.content).toBe("whole");
  expect(second.chat.getSnapshot().status).toBe("ready");
  expect(new Set(ids).size).toBe(1);
  expect(ids.length).toBe(2);
});

test("a decision on a call goes to the runner, which continues the turn", async () => {
  const decisions: unknown[] = [];
  const call = { id: "c1", name: "mail", arguments: "{}", input: {}, state: "needs-approval" } as const;
  const { chat } = openChat({
    async run({ id }, { put }) {
      if (decisions.length === 0) put(message(id, "", { outcome: "tool-calls", toolCalls: [call] }));
      else put(message(id, "sent", { outcome: "complete", toolCalls: [{ ...call, state: "done" }] }));
      return {};
    },
    decide: async (_, decision) => void decisions.push(decision),
  });
  expect((await chat.send("Hi")).outcome).toBe("tool-calls");
  expect(chat.getSnapshot().status).toBe("requires-action");
  expect((await chat.approve("c1")).outcome).toBe("complete");
  expect(decisions).toEqual([
    { type: "approve", messageId: chat.getSnapshot().messages.at(-1)?.id, toolCallId: "c1" },
  ]);
  expect(chat.getSnapshot().status).toBe("ready");
});

test("a queued message follows a runner's turn", async () => {
  let end = () => {};
  const { chat } = openChat(
    {
      run: ({ id }, { put }) =>
        new Promise((resolve) => {
          end = () => {
            put(message(id, "done", { outcome: "complete" }));
            resolve({});
          };
        }),
    },
    { whenBusy: "queue" },
  );
  const turns = [chat.send("one"), chat.send("two")];
  await settled();
  expect(chat.getSnapshot().queued).toMatchObject([{ content: "two" }]);
  end();
  await settled();
  end();
  expect((await Promise.all(turns)).map(({ outcome }) => outcome)).toEqual(["complete", "complete"]);
});

test("an id that no server could store is refused", () => {
  const { client } = createTestClient(() => Response.error());
  for (const id of ["", "a\0b", "\ud800", "x".repeat(201)])
    expect(() => createChatStore(client, { id, model: "delta-5.3" })).toThrow("id: must have 1 to 200");
});
