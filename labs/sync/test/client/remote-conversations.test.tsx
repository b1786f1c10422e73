// @vitest-environment happy-dom
import { createEmulator } from "@sluice/emulator";
import { GatewayProvider, type UseConversationsResult, useChatStream, useConversations } from "@sluice/react";
import { act, cleanup, configure, render, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openServer } from "../../../../tests/support/conversations-server.ts";

/* The hooks over a storage on a server: two devices of one user. */

configure({ asyncUtilTimeout: 15_000 });

let server: ReturnType<typeof openServer>;
beforeEach(() => {
  const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY, chat: () => "Because" });
  server = openServer({ fetch: (request) => emulator.clientOptions.fetch(request) });
});
afterEach(() => {
  cleanup();
  return server.close();
});

interface Held {
  list?: UseConversationsResult;
  chat?: ReturnType<typeof useChatStream>;
}

/** A page of the app on a device of its own. */
function device(activeId: string, restoreMs = 60_000) {
  const { client, storage, requests } = server.openDevice();
  const held: Held = {};
  function App() {
    held.list = useConversations({ storage, activeId, restoreMs });
    held.chat = useChatStream({ id: activeId, model: "delta-5.3", storage });
    return null;
  }
  render(
    <GatewayProvider client={client}>
      <App />
    </GatewayProvider>,
  );
  const titles = () => held.list?.conversations.map(({ title }) => title);
  const texts = () => held.chat?.messages.map(({ content }) => content);
  return { held, titles, texts, requests };
}

test("A chat of one device is in the list of the other, is shown there, and is removed from both", async () => {
  const [phone, laptop] = [device("trip", 300), device("trip", 300)];
  await waitFor(() => expect(phone.held.chat?.isRestoring).toBe(false));
  await act(async () => void (await phone.held.chat?.send("Why?")));
  await waitFor(() => expect([laptop.titles(), laptop.texts()]).toEqual([["Why?"], ["Why?", "Because"]]));
  act(() => laptop.held.list?.update("trip", { title: "The reason" }));
  await waitFor(() => expect(phone.titles()).toEqual(["The reason"]));
  act(() => phone.held.list?.remove("trip"));
  await waitFor(() => expect([phone.titles(), laptop.titles()]).toEqual([[], []]));
  await waitFor(() => expect(phone.requests).toContain("DELETE /v1/conversations/trip"));
  await waitFor(() => expect([phone.texts(), laptop.texts()]).toEqual([[], []]));
  const fresh = device("trip");
  await waitFor(() => expect(fresh.held.list?.isRestoring).toBe(false));
  expect([fresh.titles(), fresh.held.list?.removed, fresh.texts()]).toEqual([[], [], []]);
});

test("A conversation that one device removed is brought back by the other", async () => {
  const [phone, laptop] = [device("trip"), device("trip")];
  await waitFor(() => expect(phone.held.chat?.isRestoring).toBe(false));
  await act(async () => void (await phone.held.chat?.send("Why?")));
  await waitFor(() => expect(laptop.titles()).toEqual(["Why?"]));
  act(() => phone.held.list?.remove("trip"));
  await waitFor(() => expect(laptop.titles()).toEqual([]));
  act(() => laptop.held.list?.restore("trip"));
  await waitFor(() => expect(phone.titles()).toEqual(["Why?"]));
});

/** A page of the app of a user. */
function pageOf(user: string, activeId: string) {
  const { client, local, storage, requests } = server.openDevice({ user });
  const held: Held = {};
  function App({ id }: { id: string }) {
    held.list = useConversations({ storage, activeId: id, restoreMs: 300 });
    held.chat = useChatStream({ id, model: "delta-5.3", storage });
    return null;
  }
  const page = (id: string) => (
    <GatewayProvider client={client}>
      <App id={id} />
    </GatewayProvider>
  );
  const { rerender } = render(page(activeId));
  const listed = () => held.list?.conversations.map(({ title, isUnread }) => ({ title, isUnread }));
  return { client, local, held, requests, listed, show: (id: string) => rerender(page(id)) };
}

test("An answer is unread on a device that does not show it, until any device of the user does", async () => {
  // a conversation says each ten seconds what is new in it
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], shouldAdvanceTime: true });
  onTestFinished(() => void vi.useRealTimers());
  const [laptop, phone] = [pageOf("ada", "trip"), pageOf("ada", "other")];
  const isUnread = ({ held }: typeof phone) => held.list?.conversations.map((one) => one.isUnread);
  await waitFor(() => expect(laptop.held.chat?.isRestoring).toBe(false));
  await act(async () => void (await laptop.held.chat?.send("Why?")));
  await waitFor(() => expect(isUnread(phone)).toEqual([false]));
  // it was shown, and is left before the server says that it is new
  act(() => laptop.show("other"));
  const news = async () => {
    await act(() => vi.advanceTimersByTimeAsync(1000));
    return (await phone.local.read(`"${phone.client.user}"/conversations`)).get("~news/trip");
  };
  await expect.poll(news).toBeDefined();
  await waitFor(() => expect([isUnread(laptop), isUnread(phone)]).toEqual([[false], [false]]));
  const tablet = server.openDevice();
  const answer = {
    message: { id: "b", role: "assistant", content: "So it is.", outcome: "complete", createdAt: 1 },
    parent: null,
    revision: 1,
  };
  const before = await news();
  await tablet.storage.write(`"${tablet.client.user}"/chat/trip`, new Map([["b", answer]]));
  await expect.poll(news).not.toEqual(before);
  await waitFor(() => expect([isUnread(laptop), isUnread(phone)]).toEqual([[true], [true]]));
  act(() => phone.show("trip"));
  await waitFor(() => expect([isUnread(laptop), isUnread(phone)]).toEqual([[false], [false]]));
  const fresh = pageOf("ada", "other");
  await waitFor(() => expect(isUnread(fresh)).toEqual([false]));
});
