import { type ChatStorage, GatewayProvider, useChatStream } from "@sluice/react";
import { memoryStorage } from "@sluice/stores";
import { act, render } from "@testing-library/react";
import { StrictMode } from "react";
import { expect, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";

/* Chats with an id that no component shows any more. */

const MINUTE = 60_000;
let chat: ReturnType<typeof useChatStream>;

function Chat({ id, storage }: { id: string; storage: ChatStorage | undefined }) {
  chat = useChatStream({ id, model: "delta-5.3", ...(storage && { storage }) });
  return <p>{chat.messages.map(({ content }) => content).join(", ")}</p>;
}

function renderPage(Mode: typeof StrictMode | null = null, storage?: ChatStorage) {
  const clock = stoppedClock();
  const connection = openBody();
  const long = { firstChunkMs: 1e9, chunkMs: 1e9 };
  const { client, requests } = createTestClient(() => streamResponse(connection.body), {
    clock,
    timeout: long,
  });
  const app = (id?: string) => {
    const content = (
      <GatewayProvider client={client}>
        {id !== undefined && <Chat key={id} id={id} storage={storage} />}
      </GatewayProvider>
    );
    return Mode ? <Mode>{content}</Mode> : content;
  };
  const view = render(app());
  return {
    clock,
    connection,
    requests,
    text: () => view.container.textContent,
    show: (id?: string) => act(async () => view.rerender(app(id))),
    advance: (ms: number) => act(() => clock.advance(ms)),
    sendMessage: (text: string) =>
      act(async () => {
        await connection.wanted();
        connection.send(text);
        await connection.wanted();
        await clock.advance(50);
      }),
    write: (content: string) => act(async () => chat.setMessages([{ role: "user", content }])),
  };
}

test.each([null, StrictMode])("A chat is disposed of five minutes after its last component", async (Mode) => {
  const { show, write, advance, text, clock } = renderPage(Mode);
  await show("a");
  await write("Hello");
  await show();
  await advance(4.9 * MINUTE);
  await show("a");
  expect(text()).toBe("Hello");
  await advance(60 * MINUTE);
  await show();
  await advance(5 * MINUTE);
  expect(clock.sleeping()).toBe(0);
  await show("a");
  expect(text()).toBe("");
});

test("Of 150 shown chats, the newest hundred stay in memory", async () => {
  const { show, write, text, clock } = renderPage();
  for (let nth = 0; nth < 150; nth += 1) {
    await show(`chat ${nth}`);
    if (nth === 0 || nth >= 48) await write(`text ${nth}`);
  }
  await show();
  expect(clock.sleeping()).toBe(100);
  await show("chat 50");
  expect(text()).toBe("text 50");
  await show("chat 48");
  expect(text()).toBe("");
  await show("chat 0");
  expect(text()).toBe("");
});

test("A chat with a streaming response stays until the response has ended, and five minutes more", async () => {
  const { show, sendMessage, advance, text, connection, requests } = renderPage();
  await show("a");
  await act(async () => {
    void chat.send("Why?");
    await settled();
  });
  await sendMessage(frame({ content: "Be" }));
  await show();
  await advance(60 * MINUTE);
  for (let nth = 0; nth < 150; nth += 1) await show(`other ${nth}`);
  expect(connection.cancelled).toBe(false);
  await sendMessage(frame({ content: "cause" }) + frame({}, "stop") + DONE);
  await advance(4 * MINUTE);
  await show("a");
  expect([text(), requests.length]).toEqual(["Why?, Because", 1]);
});

test("A chat stays until its storage has written it", async () => {
  const memory = memoryStorage();
  let isFull = true;
  const storage: ChatStorage = {
    ...memory,
    write: (...given) =>
      isFull ? Promise.reject(new DOMException("full", "QuotaExceededError")) : memory.write(...given),
  };
  const { show, write, advance, text, clock } = renderPage(null, storage);
  await show("a");
  await advance(100);
  await write("Hello");
  await advance(10_000);
  expect(chat.persistence?.status).toBe("unsaved");
  await show();
  await advance(60 * MINUTE);
  await show("a");
  await advance(100);
  expect(text()).toBe("Hello");
  await show();
  isFull = false;
  await advance(60 * MINUTE);
  expect(clock.sleeping()).toBe(0);
  await show("a");
  await advance(100);
  expect([text(), chat.persistence?.status]).toEqual(["Hello", "saved"]);
});
