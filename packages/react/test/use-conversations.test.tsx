import { locks } from "node:worker_threads";
import {
  type ChatStorage,
  GatewayProvider,
  type UseConversationsOptions,
  type UseConversationsResult,
  useChatStream,
  useConversations,
} from "@sluice/react";
import { customStorage, memoryStorage, signOut } from "@sluice/stores";
import { act, configure, render, waitFor } from "@testing-library/react";
import { Fragment, StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createTestClient,
  frame,
  openBody,
  settled,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";

// a slow machine takes longer than the usual second
configure({ asyncUtilTimeout: 15_000 });

// the tabs of this file share the locks of the process, as tabs share the locks of a browser
beforeAll(() => void Object.defineProperty(navigator, "locks", { value: locks, configurable: true }));
afterAll(() => void Reflect.deleteProperty(navigator, "locks"));

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** A second passes between two questions. */
const later = () => vi.setSystemTime(Date.now() + 1000);

type Chat = ReturnType<typeof useChatStream>;
interface Held {
  readonly seen: Set<string>;
  list?: UseConversationsResult;
  chat?: Chat;
}

interface PageProps extends UseConversationsOptions {
  /** Id of the chat that is shown. @default activeId */
  readonly chatId?: string;
  readonly storage?: ChatStorage;
}

function Shell({ held, chatId, ...options }: PageProps & { held: Held }) {
  const shownId = chatId ?? options.activeId;
  held.list = useConversations(options);
  for (const { status } of held.list.conversations) held.seen.add(status);
  return shownId === undefined ? null : <Conversation held={held} id={shownId} storage={options.storage} />;
}

function Conversation({ held, id, storage }: { held: Held; id: string; storage: ChatStorage | undefined }) {
  held.chat = useChatStream({ id, model: "delta-5.3", ...(storage && { storage }) });
  return null;
}

/**
 * A tab of an app: another one over the same storage is another tab, or the page after a reload. Effects run twice in
 * StrictMode, and once in the Fragment of a production build.
 */
function openTab(options: PageProps = {}, Mode: typeof StrictMode = StrictMode) {
  const clock = stoppedClock();
  const events: { type: string }[] = [];
  const connections = Array.from({ length: 8 }, openBody);
  const { client } = createTestClient((_, nth) => streamResponse(connections[nth - 1]?.body ?? ""), {
    clock,
    onEvent: (event) => events.push(event),
  });
  const held: Held = { seen: new Set() };
  const page = (more: PageProps = {}) => (
    <Mode>
      <GatewayProvider client={client}>
        <Shell held={held} {...options} {...more} />
      </GatewayProvider>
    </Mode>
  );
  const { rerender, unmount } = render(page());
  const show = (more: PageProps) => act(async () => rerender(page(more)));
  const list = () => held.list as UseConversationsResult;
  const rows = () => list().conversations.map(({ title, status }) => `${title}: ${status}`);
  let sent = 0;
  const onServer = () => void renderToString(page());
  return {
    client,
    clock,
    events,
    show,
    onServer,
    unmount,
    list,
    rows,
    sendMessage,
    send,
    respond: streamReplyText,
    piece: pushPiece,
    held,
    seen: held.seen,
  };

  /** Opens a conversation and asks. */
  async function sendMessage(id: string, question: string): Promise<void> {
    await show({ activeId: id });
    await send(question);
  }

  /** Asks in the chat that is shown. */
  async function send(question: string): Promise<void> {
    await waitFor(() => expect(held.chat?.persistence?.status).not.toBe("restoring"));
    await act(async () => {
      void held.chat?.send(question);
      await settled();
    });
  }

  /** Sends a piece of the response in flight. */
  async function pushPiece(content: string): Promise<void> {
    const line = connections[sent];
    await act(async () => {
      await line?.wanted();
      line?.send(frame({ content }));
      await line?.wanted();
      await clock.advance(50);
    });
  }

  async function streamReplyText(text: string): Promise<void> {
    const line = connections[sent];
    sent += 1;
    await act(async () => {
      line?.send(streamText(text));
      line?.end();
      await settled();
    });
  }
}

/** Creates a storage that, like IndexedDB, does not report the writes of its own tab. */
const createSilentStorage = (): ChatStorage => ({ ...memoryStorage(), subscribe: () => () => {} });

const opened = async (options: PageProps = {}, Mode = StrictMode) => {
  const page = openTab(options, Mode);
  await waitFor(() => expect(page.list().isRestoring).toBe(false));
  return page;
};
const create = ({ list }: { list: () => UseConversationsResult }, title?: string): string => {
  let id = "";
  act(() => {
    id = list().create(title === undefined ? {} : { title });
  });
  return id;
};
const expectRows = (page: ReturnType<typeof openTab>, rows: readonly string[]) =>
  waitFor(() => expect(page.rows()).toEqual(rows));

test("a conversation is listed from its first question on, with the question as its title", async () => {
  const page = await opened({ storage: memoryStorage() });
  const id = create(page);
  expect(id).toMatch(/^\w+$/);
  await page.show({ activeId: id });
  expect([page.rows(), page.list().active]).toEqual([[], undefined]);
  await page.sendMessage(id, "# Why is   the sky blue?\nAnd why red?");
  await expectRows(page, ["Why is the sky blue?: responding"]);
  expect(page.list().active).toBe(page.list().conversations[0]);
  await page.respond("Because");
  await expectRows(page, ["Why is the sky blue?: ready"]);
});

test("the newest question comes first, and a pinned conversation before it", async () => {
  const page = await opened({ storage: memoryStorage() });
  const [one, two] = [create(page), create(page)] as const;
  await page.sendMessage(one, "One?");
  await page.respond("1");
  later();
  await page.sendMessage(two, "Two?");
  await page.respond("2");
  await expectRows(page, ["Two?: ready", "One?: ready"]);
  act(() => page.list().update(one, { isPinned: true }));
  await expectRows(page, ["One?: ready", "Two?: ready"]);
  act(() => page.list().update(one, { isPinned: false }));
  await expectRows(page, ["Two?: ready", "One?: ready"]);
});

test("a long question is cut between two words", async () => {
  const page = await opened({ storage: memoryStorage() });
  await page.sendMessage(create(page), `Please explain ${"very ".repeat(20)}slowly`);
  const title = page.list().conversations[0]?.title ?? "";
  expect(title).toMatch(/^Please explain( very)+…$/);
  expect(title.length).toBeLessThanOrEqual(60);
});

test("A title has at most 60 characters, and is cut within a word that is longer than half of it", async () => {
  const page = await opened({ storage: memoryStorage() });
  const [longest, longer] = ["a".repeat(60), "b".repeat(61)];
  const [half, more] = [`${"c".repeat(30)} ${"c".repeat(40)}`, `${"d".repeat(31)} ${"d".repeat(40)}`];
  for (const question of [longest, longer, half, more]) {
    later();
    await page.sendMessage(create(page), question);
    await page.respond("Yes");
  }
  const titles = () => page.list().conversations.map(({ title }) => title);
  await waitFor(() =>
    expect(titles()).toEqual([
      `${"d".repeat(31)}…`,
      `${"c".repeat(30)} ${"c".repeat(28)}…`,
      `${"b".repeat(59)}…`,
      longest,
    ]),
  );
});

test("a title that a user gave stays, and an empty one changes nothing", async () => {
  const page = await opened({ storage: memoryStorage() });
  const id = create(page, "Sky");
  await expectRows(page, ["Sky: ready"]);
  await page.sendMessage(id, "Why is the sky blue?");
  await page.respond("Because");
  await expectRows(page, ["Sky: ready"]);
  act(() => page.list().update(id, { title: "  Colours  " }));
  act(() => page.list().update(id, { title: "  " }));
  await expectRows(page, ["Colours: ready"]);
});

test("a reload shows the list again, and the conversation of the address", async () => {
  const storage = memoryStorage();
  const before = await opened({ storage });
  const id = create(before);
  await before.sendMessage(id, "Why?");
  await before.respond("Because");
  await expectRows(before, ["Why?: ready"]);
  act(() => before.list().update(id, { isPinned: true }));
  const [listed] = before.list().conversations;
  expect(listed?.isPinned).toBe(true);
  const after = await opened({ storage, activeId: id });
  await expectRows(after, ["Why?: ready"]);
  expect(after.list().active).toEqual(listed);
});

test("a stored chat that no list knows is listed when it is shown", async () => {
  const storage = memoryStorage();
  const message = { role: "user", content: "Why?", createdAt: 7 };
  await storage.write("chat/lost", new Map([["m", { message, parent: null, revision: 1 }]]));
  const page = await opened({ storage, activeId: "lost" });
  await expectRows(page, ["Why?: ready"]);
  expect(page.list().active).toMatchObject({ createdAt: 7, updatedAt: 7 });
});

test("a stored chat that an open list does not know is listed when it is shown", async () => {
  const storage = memoryStorage();
  const message = { role: "user", content: "Why?", createdAt: 7 };
  await storage.write("chat/lost", new Map([["m", { message, parent: null, revision: 1 }]]));
  const page = await opened({ storage }, Fragment);
  await page.show({ activeId: "lost" });
  await expectRows(page, ["Why?: ready"]);
});

test("A stored chat without times is as old as the page", async () => {
  const storage = memoryStorage();
  const message = { role: "user", content: "Why?" };
  await storage.write("chat/lost", new Map([["m", { message, parent: null, revision: 1 }]]));
  const page = await opened({ storage, activeId: "lost" });
  await expectRows(page, ["Why?: ready"]);
  expect(page.list().active).toMatchObject({ createdAt: Date.now(), updatedAt: Date.now() });
});

test("A conversation without a title gets one with its next question", async () => {
  const storage = memoryStorage();
  const record = { title: "", createdAt: 1, updatedAt: 1, revision: 1 };
  await storage.write("conversations", new Map([["c", record]]));
  const page = await opened({ storage });
  await expectRows(page, [": ready"]);
  await page.sendMessage("c", "Why?");
  await expectRows(page, ["Why?: responding"]);
});

test("a search that read a stored chat finds its later messages", async () => {
  const storage = createSilentStorage();
  const before = await opened({ storage });
  const id = create(before);
  await before.sendMessage(id, "Why?");
  await before.respond("Because");
  await expectRows(before, ["Why?: ready"]);
  const page = await opened({ storage });
  expect(await page.list().search("because")).toHaveLength(1);
  await page.sendMessage(id, "And why red?");
  await page.respond("Evening");
  await page.show({ activeId: "another" });
  expect(await page.list().search("evening")).toHaveLength(1);
});

describe("two tabs", () => {
  test("show the same list, even while the other tab streams a response", async () => {
    const storage = memoryStorage();
    const [one, two] = [await opened({ storage }), await opened({ storage })];
    const id = create(one);
    await one.sendMessage(id, "Why?");
    await expectRows(one, ["Why?: responding"]);
    await expectRows(two, ["Why?: ready"]);
    await one.respond("Because");
    await expectRows(one, ["Why?: ready"]);
    await expectRows(two, ["Why?: ready"]);
    act(() => two.list().update(id, { title: "Reasons" }));
    await expectRows(one, ["Reasons: ready"]);
  });

  test("show that the other tab streams a response in a chat that both show", async () => {
    const storage = memoryStorage();
    const one = await opened({ storage });
    const id = create(one);
    await one.sendMessage(id, "Why?");
    await expectRows(one, ["Why?: responding"]);
    const two = await opened({ storage });
    await two.show({ chatId: id });
    await expectRows(two, ["Why?: responding-elsewhere"]);
    await one.respond("Because");
    await expectRows(two, ["Why?: ready"]);
  });

  test("show each response of the other tab, and no delta of a response changes the list", async () => {
    const storage = memoryStorage();
    const [one, two] = [await opened({ storage }), await opened({ storage })];
    const id = create(one);
    for (const question of ["Why?", "And why red?"]) {
      later();
      await one.sendMessage(id, question);
      await expectRows(one, ["Why?: responding"]);
      await one.piece("Be");
      const before = one.list();
      await one.piece("cause");
      expect(one.held.chat?.messages.at(-1)?.content).toBe("Because");
      expect(one.list()).toBe(before);
      await one.respond("!");
      await expectRows(one, ["Why?: ready"]);
      await expectRows(two, ["Why?: ready"]);
    }
  });

  test("hide a conversation once another tab has deleted it", async () => {
    const storage = memoryStorage();
    const page = await opened({ storage });
    create(page, "Sky");
    const record = { title: "Sea", createdAt: 1, updatedAt: 1, revision: 1 };
    await act(() => storage.write("conversations", new Map([["c", record]])));
    await expectRows(page, ["Sky: ready", "Sea: ready"]);
    await act(() => storage.write("conversations", new Map([["c", undefined]])));
    await expectRows(page, ["Sky: ready"]);
  });

  test("stop a response whose conversation the other tab has removed", async () => {
    const storage = memoryStorage();
    const [one, two] = [await opened({ storage }), await opened({ storage })];
    const id = create(one);
    await one.sendMessage(id, "Why?");
    await expectRows(two, ["Why?: ready"]);
    act(() => two.list().remove(id));
    await waitFor(() => expect(one.held.chat?.status).toBe("ready"));
    await expectRows(one, []);
  });

  test("find the messages of the other tab since the last search", async () => {
    const storage = memoryStorage();
    const [one, two] = [await opened({ storage }), await opened({ storage })];
    const id = create(one);
    await one.sendMessage(id, "Why?");
    await one.respond("Because");
    await expectRows(two, ["Why?: ready"]);
    expect(await two.list().search("evening")).toEqual([]);
    later();
    await one.sendMessage(id, "And why red?");
    await one.respond("It is evening.");
    await expectRows(one, ["Why?: ready"]);
    await waitFor(async () => expect(await two.list().search("evening")).toHaveLength(1));
  });

  test("take the later one of two changes that do not know each other", async () => {
    const storage = memoryStorage();
    const page = await opened({ storage });
    const id = create(page, "One");
    await expectRows(page, ["One: ready"]);
    await waitFor(async () => expect((await storage.read("conversations")).has(id)).toBe(true));
    const other = { title: "Other", createdAt: 1, updatedAt: 1, revision: 1 };
    await act(() => storage.write("conversations", new Map([[id, other]])));
    await expectRows(page, ["Other: ready"]);
  });

  test("show the status of a chat of theirs that the other one has listed", async () => {
    const storage = memoryStorage();
    const page = await opened({ storage });
    await page.show({ chatId: "c" });
    expect(page.rows()).toEqual([]);
    const record = { title: "Sky", createdAt: 1, updatedAt: 1, revision: 1 };
    await act(() => storage.write("conversations", new Map([["c", record]])));
    await expectRows(page, ["Sky: ready"]);
    await page.send("Why?");
    await expectRows(page, ["Sky: responding"]);
  });

  test("an older copy of a conversation never wins", async () => {
    const storage = memoryStorage();
    const page = await opened({ storage });
    const id = create(page, "One");
    await expectRows(page, ["One: ready"]);
    act(() => page.list().update(id, { title: "Two" }));
    // wait for the tab's own write: later it would restore the newer title
    const stored = async () => (await storage.read("conversations")).get(id);
    await waitFor(async () => expect(await stored()).toMatchObject({ title: "Two" }));
    const older = { title: "Old", createdAt: 1, updatedAt: 1, revision: 1 };
    await act(() => storage.write("conversations", new Map([[id, older]])));
    await act(() => settled());
    expect(page.rows()).toEqual(["Two: ready"]);
  });

  test("remove a conversation together, and each can bring it back", async () => {
    const storage = memoryStorage();
    const [one, two] = [await opened({ storage }), await opened({ storage })];
    const id = create(one);
    await one.sendMessage(id, "Why?");
    await one.respond("Because");
    await expectRows(two, ["Why?: ready"]);
    act(() => one.list().remove(id));
    await expectRows(one, []);
    await expectRows(two, []);
    expect(two.list().removed.map(({ title }) => title)).toEqual(["Why?"]);
    act(() => two.list().restore(id));
    await expectRows(one, ["Why?: ready"]);
    await act(() => one.clock.advance(20_000));
    await expectRows(one, ["Why?: ready"]);
    expect((await storage.read(`chat/${id}`)).size).toBeGreaterThan(1);
  });
});

test("a removed conversation stops its response, and loses its messages after its time", async () => {
  const storage = createSilentStorage();
  const page = await opened({ storage, restoreMs: 5000 });
  const id = create(page);
  await page.sendMessage(id, "Why?");
  await expectRows(page, ["Why?: responding"]);
  act(() => page.list().remove(id));
  await waitFor(() => expect(page.held.chat?.status).toBe("ready"));
  expect(page.list().removed).toHaveLength(1);
  await act(() => page.clock.advance(4999));
  expect((await storage.read(`chat/${id}`)).size).toBeGreaterThan(1);
  await act(() => page.clock.advance(1));
  await waitFor(async () => {
    const left = [...(await storage.read(`chat/${id}`)).keys()].filter((key) => key !== "/leaf");
    expect([left, (await storage.read("conversations")).size]).toEqual([[], 0]);
  });
  await waitFor(() => expect(page.held.chat?.messages).toEqual([]));
  expect([page.list().removed, page.rows()]).toEqual([[], []]);
});

test("a question in a removed conversation brings it back, for its messages would be lost", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const id = create(page);
  await page.sendMessage(id, "Why?");
  await page.respond("Because");
  await expectRows(page, ["Why?: ready"]);
  act(() => page.list().remove(id));
  await expectRows(page, []);
  later();
  await page.sendMessage(id, "And why red?");
  await page.respond("Evening");
  await expectRows(page, ["Why?: ready"]);
  await act(() => page.clock.advance(20_000));
  await expectRows(page, ["Why?: ready"]);
  expect(page.held.chat?.messages).toHaveLength(4);
});

test("a conversation that was removed right before a reload is deleted later", async () => {
  const storage = memoryStorage();
  const record = { title: "Why?", createdAt: 1, updatedAt: 1, removedAt: 1, revision: 3 };
  await storage.write("conversations", new Map([["old", record]]));
  await storage.write("chat/old", new Map([["m", { message: { role: "user", content: "Why?" } }]]));
  const page = await opened({ storage });
  expect([page.rows(), page.list().removed]).toEqual([[], []]);
  await act(() => page.clock.advance(2000));
  await waitFor(async () => expect((await storage.read("chat/old")).size).toBe(0));
});

test("The next page load waits two seconds longer than the tab that removed a conversation", async () => {
  const storage = memoryStorage();
  const removedAt = Date.now() - 10_000;
  const record = { title: "Why?", createdAt: 1, updatedAt: 1, removedAt, revision: 3 };
  const younger = { ...record, title: "How?", removedAt: removedAt + 1 };
  const records = [["old", record] as const, ["younger", younger] as const];
  await storage.write("conversations", new Map(records));
  await storage.write("chat/old", new Map([["m", { message: { role: "user", content: "Why?" } }]]));
  const page = await opened({ storage });
  expect(page.list().removed.map(({ title }) => title)).toEqual(["How?"]);
  await act(() => page.clock.advance(1999));
  expect((await storage.read("chat/old")).size).toBe(1);
  await act(() => page.clock.advance(1));
  await waitFor(async () => expect((await storage.read("chat/old")).size).toBe(0));
});

test("What another device removes can be restored as long as here, also if its clock is behind", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const record = { title: "Why?", createdAt: 1, updatedAt: 1, revision: 3 };
  await storage.write("chat/old", new Map([["m", { message: { role: "user", content: "Why?" } }]]));
  const removedAt = Date.now() - 3_600_000;
  await storage.write("conversations", new Map([["old", { ...record, removedAt }]]));
  await act(() => page.clock.advance(11_900));
  expect((await storage.read("chat/old")).size).toBe(1);
  await act(() => page.clock.advance(100));
  await waitFor(async () => expect((await storage.read("chat/old")).size).toBe(0));
});

test("A conversation that is removed again can be brought back for its whole time", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const id = create(page);
  await page.sendMessage(id, "Why?");
  await page.respond("Because");
  await expectRows(page, ["Why?: ready"]);
  act(() => page.list().remove(id));
  await act(() => page.clock.advance(9000));
  act(() => page.list().restore(id));
  later();
  act(() => page.list().remove(id));
  await act(() => page.clock.advance(9999));
  expect((await storage.read(`chat/${id}`)).size).toBeGreaterThan(1);
  act(() => page.list().restore(id));
  await act(() => page.clock.advance(1));
  await expectRows(page, ["Why?: ready"]);
  expect(page.held.chat?.messages).toHaveLength(2);
});

test("Removing what is not in the list deletes nothing", async () => {
  const storage = memoryStorage();
  await storage.write("chat/other", new Map([["m", { message: { role: "user", content: "Why?" } }]]));
  const page = await opened({ storage });
  act(() => page.list().remove("other"));
  await act(() => page.clock.advance(60_000));
  expect((await storage.read("chat/other")).size).toBe(1);
});

test("A conversation that is brought back in the middle of its deletion stays in the list", async () => {
  const storage = memoryStorage();
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  const read = async (collection: string) => {
    if (isHeld && collection.startsWith("chat/")) await held;
    return storage.read(collection);
  };
  const page = await opened({ storage: { ...storage, read } });
  const id = create(page, "Sky");
  await expectRows(page, ["Sky: ready"]);
  isHeld = true;
  act(() => page.list().remove(id));
  await act(() => page.clock.advance(10_000));
  act(() => page.list().restore(id));
  await act(async () => {
    release();
    await settled();
  });
  await expectRows(page, ["Sky: ready"]);
});

test("A conversation that was deleted is listed again with the next question of its id", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const id = create(page);
  await page.sendMessage(id, "Why?");
  await page.respond("Because");
  await expectRows(page, ["Why?: ready"]);
  act(() => page.list().remove(id));
  await act(() => page.clock.advance(10_000));
  await waitFor(async () => expect((await storage.read("conversations")).size).toBe(0));
  // another chat is shown for so long that the first one is let go
  await page.show({ activeId: id, chatId: "another" });
  await act(() => page.clock.advance(5 * 60_000));
  await page.show({ activeId: id });
  await page.send("And why red?");
  await expectRows(page, ["And why red?: responding"]);
});

test("A list is empty after a sign-out", async () => {
  const page = await opened({ storage: memoryStorage() });
  create(page, "Sky");
  await expectRows(page, ["Sky: ready"]);
  await act(() => signOut(page.client));
  expect(page.rows()).toEqual([]);
});

test("a removed conversation with a message that can't be deleted stays for the next page load", async () => {
  const storage = memoryStorage();
  const record = { title: "Why?", createdAt: 1, updatedAt: 1, removedAt: 1, revision: 3 };
  await storage.write("conversations", new Map([["old", record]]));
  await storage.write("chat/old", new Map([["m", { message: { role: "user", content: "Why?" } }]]));
  const write: ChatStorage["write"] = (collection, changes) =>
    collection === "chat/old"
      ? Promise.reject(new Error("the disk is broken"))
      : storage.write(collection, changes);
  const page = await opened({ storage: { ...storage, write } });
  await act(() => page.clock.advance(2000));
  await waitFor(() => expect(page.events.map(({ type }) => type)).toContain("storage-error"));
  await act(() => settled());
  expect([...(await storage.read("conversations")).keys()]).toEqual(["old"]);
});

test("a search finds titles first, then messages, whatever the case and the accents", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const [one, two] = [create(page), create(page)] as const;
  await page.sendMessage(one, "Why is the sky blue?");
  await page.respond("Short waves scatter more, as in a Café.");
  await page.sendMessage(two, "A café in Rome?");
  await page.respond("Try Sant'Eustachio.");
  const found = async (text: string) =>
    (await page.list().search(text)).map(({ conversation, excerpt }) => [conversation.title, excerpt]);
  expect(await found("CAFE")).toEqual([
    ["A café in Rome?", undefined],
    ["Why is the sky blue?", "Short waves scatter more, as in a Café."],
  ]);
  expect(await found("waves short")).toHaveLength(1);
  expect(await found("waves eustachio")).toEqual([]);
  expect(await found(" ")).toEqual([]);
});

test("a search finds the messages since the last search", async () => {
  const page = await opened({ storage: createSilentStorage() });
  await page.sendMessage(create(page), "Why?");
  expect(await page.list().search("scatter")).toEqual([]);
  await page.respond("Short waves scatter more.");
  const [match] = await page.list().search("SCATTER");
  expect(match?.excerpt).toBe("Short waves scatter more.");
});

test("An excerpt has 160 characters of a long message around the word, and none is cut in two", async () => {
  const storage = memoryStorage();
  const before = "before ".repeat(10);
  const content = `${before}\n\nThe  SKY is blue ${"🌊".repeat(200)}`;
  const message = (id: string, content: string) => ({
    message: { id, role: "user", content, createdAt: 1, outcome: "complete" },
    parent: null,
    revision: 1,
  });
  const record = { title: "One", createdAt: 1, updatedAt: 1, revision: 1 };
  await storage.write("conversations", new Map([["c", record]]));
  await storage.write("chat/c", new Map([["m", message("m", content)]]));
  const page = await opened({ storage });
  const findExcerpt = async (text: string) => (await page.list().search(text))[0]?.excerpt;
  const [sky, early] = [await findExcerpt("sky"), await findExcerpt("before")];
  expect(sky).toMatch(/^… before before before before before The SKY is blue 🌊+…$/u);
  expect([...(sky ?? "")]).toHaveLength(160);
  expect(early).toMatch(/^before before .* The SKY is blue 🌊+…$/u);
  expect([...(early ?? "")]).toHaveLength(159);
  await storage.write("chat/c", new Map([["m", message("m", `${"x ".repeat(78)}sky`)]]));
  const again = await opened({ storage });
  expect((await again.list().search("sky"))[0]?.excerpt).toMatch(/^…x .* sky$/);
});

test("A search ends at its limit, and titles come first", async () => {
  const storage = memoryStorage();
  const record = (title: string, nth: number) => ({ title, createdAt: nth, updatedAt: nth, revision: 1 });
  const records = ["a sky", "b", "c", "d sky"].map((title, nth) => [title, record(title, nth)] as const);
  await storage.write("conversations", new Map(records));
  for (const id of ["b", "c"]) {
    const message = { id, role: "user", content: "sky", createdAt: 1, outcome: "complete" };
    await storage.write(`chat/${id}`, new Map([[id, { message, parent: null, revision: 1 }]]));
  }
  const page = await opened({ storage });
  const found = async (limit: number) =>
    (await page.list().search("sky", { limit })).map(({ conversation }) => conversation.title);
  expect(await found(1)).toEqual(["d sky"]);
  expect(await found(3)).toEqual(["d sky", "a sky", "c"]);
  expect(await found(9)).toEqual(["d sky", "a sky", "c", "b"]);
});

test("A search finds the texts of users and models, in records of any form", async () => {
  const storage = memoryStorage();
  const record = { title: "One", createdAt: 1, updatedAt: 1, revision: 1 };
  await storage.write("conversations", new Map([["c", record]]));
  const createRecord = (role: string, content?: unknown) => ({ message: { role, content } });
  const stored = [null, undefined, {}, { message: null }, createRecord("user"), createRecord("user", 7)];
  const records = [
    ...stored,
    createRecord("tool", "a sky"),
    createRecord("system", "a sky"),
    createRecord("assistant", "a sea"),
  ];
  await storage.write("chat/c", new Map(records.map((one, nth) => [`m${nth}`, one])));
  const page = await opened({ storage });
  expect(await page.list().search("sky")).toEqual([]);
  expect(await page.list().search("sea")).toMatchObject([{ messageId: "m8", excerpt: "a sea" }]);
});

/** A page with conversations without messages. Returns the names of the chats that are read, too. */
async function createTitledList(titles: readonly string[]) {
  const storage = memoryStorage();
  const records = titles.map((title, nth) => {
    const record = { title, createdAt: nth, updatedAt: nth, revision: 1 };
    return [`c${nth}`, record] as const;
  });
  await storage.write("conversations", new Map(records));
  const reads: string[] = [];
  const read = (collection: string) => {
    if (collection.startsWith("chat/")) reads.push(collection);
    return storage.read(collection);
  };
  return { page: await opened({ storage: { ...storage, read } }), reads };
}

test("A search finds fifty conversations, and reads none beyond its limit", async () => {
  const { page, reads } = await createTitledList(Array.from({ length: 51 }, () => "Sky"));
  expect(await page.list().search("sky")).toHaveLength(50);
  const other = await createTitledList(["Sky", "Sea"]);
  expect(await other.page.list().search("sky", { limit: 1 })).toHaveLength(1);
  expect([reads, other.reads]).toEqual([[], []]);
});

test("A search that was aborted reads nothing, and rejects also where titles are enough", async () => {
  const { page, reads } = await createTitledList(["Sky", "Sea"]);
  const signal = AbortSignal.abort();
  await expect(page.list().search("sky", { signal })).rejects.toThrow("abort");
  expect(reads).toEqual([]);
  const all = await createTitledList(["Sky"]);
  await expect(all.page.list().search("sky", { signal })).rejects.toThrow("abort");
});

test("a long list is shown in pages", async () => {
  const storage = memoryStorage();
  const records = Array.from({ length: 5 }, (_, nth) => {
    const record = { title: String(nth), createdAt: nth, updatedAt: nth, revision: 1 };
    return [`c${nth}`, record] as const;
  });
  await storage.write("conversations", new Map(records));
  const page = await opened({ storage, pageSize: 2, activeId: "c0" });
  const titles = () => page.list().conversations.map(({ title }) => title);
  expect([titles(), page.list().hasMore, page.list().total]).toEqual([["4", "3"], true, 5]);
  expect(page.list().active?.title).toBe("0");
  act(() => page.list().showMore());
  expect([titles(), page.list().hasMore]).toEqual([["4", "3", "2", "1"], true]);
  act(() => page.list().showMore());
  expect([titles(), page.list().hasMore]).toEqual([["4", "3", "2", "1", "0"], false]);
});

test("A page of a list has fifty conversations", async () => {
  const { page } = await createTitledList(Array.from({ length: 51 }, () => "Sky"));
  expect([page.list().conversations.length, page.list().hasMore]).toEqual([50, true]);
  act(() => page.list().showMore());
  expect([page.list().conversations.length, page.list().hasMore]).toEqual([51, false]);
});

test("The list is restoring until its storage was read, and what is forgotten meanwhile stays away", async () => {
  const storage = memoryStorage();
  const record = { title: "One", createdAt: 1, updatedAt: 1, revision: 1 };
  await storage.write("conversations", new Map([["c", record]]));
  const held: (() => void)[] = [];
  const read = () => new Promise<void>((resolve) => held.push(resolve)).then(() => new Map([["c", record]]));
  const page = openTab({ storage: { ...storage, read } });
  await waitFor(() => expect(held.length).toBeGreaterThan(0));
  expect([page.list().isRestoring, page.rows()]).toEqual([true, []]);
  await act(() => signOut(page.client));
  await act(async () => {
    for (const release of held) release();
    await settled();
  });
  expect([page.list().isRestoring, page.rows()]).toEqual([false, []]);
});

test("Conversations that can be brought back are those that were removed, the last one first", async () => {
  const page = await opened({ storage: memoryStorage(), restoreMs: Number.POSITIVE_INFINITY });
  const ids = ["One", "Two", "Three"].map((title) => create(page, title));
  await waitFor(() => expect(page.rows()).toHaveLength(3));
  const removed = () => page.list().removed.map(({ title }) => title);
  expect(removed()).toEqual([]);
  for (const id of ids.slice(0, 2)) {
    later();
    act(() => page.list().remove(id));
  }
  expect(removed()).toEqual(["Two", "One"]);
  expect(page.rows()).toEqual(["Three: ready"]);
});

test("A record of a removed conversation says when it was removed", async () => {
  const storage = memoryStorage();
  const page = await opened({ storage });
  const id = create(page, "Sky");
  await expectRows(page, ["Sky: ready"]);
  act(() => page.list().remove(id));
  await waitFor(async () => {
    const record = (await storage.read("conversations")).get(id);
    expect(record).toMatchObject({ title: "Sky", removedAt: Date.now() });
  });
});

test("A record without a number of changes is older than any other", async () => {
  const storage = memoryStorage();
  const old = { title: "Old", createdAt: 1, updatedAt: 1 };
  await storage.write("conversations", new Map([["a", old]]));
  const page = await opened({ storage });
  await expectRows(page, ["Old: ready"]);
  act(() => page.list().update("a", { title: "New" }));
  const stored = async () => (await storage.read("conversations")).get("a");
  await waitFor(async () => expect(await stored()).toMatchObject({ title: "New" }));
  const id = create(page, "One");
  await waitFor(async () => expect((await storage.read("conversations")).has(id)).toBe(true));
  const older = { ...old, title: "Older" };
  await act(() =>
    storage.write(
      "conversations",
      new Map([
        ["a", older],
        [id, older],
      ]),
    ),
  );
  await act(() => settled());
  expect(page.rows()).toEqual(["One: ready", "New: ready"]);
});

test("records that cannot be read are left out", async () => {
  const storage = memoryStorage();
  const broken = [
    null,
    7,
    "x",
    {},
    { title: 1, createdAt: 1, updatedAt: 1 },
    { title: "x", createdAt: "1", updatedAt: 1 },
    { title: "x", createdAt: 1 },
    { title: "x", createdAt: 1, updatedAt: Number.NaN },
  ];
  await storage.write("conversations", new Map(broken.map((record, nth) => [`c${nth}`, record])));
  const page = await opened({ storage });
  expect(page.rows()).toEqual([]);
  const odd = { title: "Odd", createdAt: 1, updatedAt: 1, isPinned: "yes", removedAt: "now" };
  await act(() => storage.write("conversations", new Map([["odd", odd]])));
  await expectRows(page, ["Odd: ready"]);
  expect(page.list().conversations[0]?.isPinned).toBe(false);
});

test("a storage that is refused leaves a list of this page, and is reported", async () => {
  const refused = () => Promise.reject(new Error("the disk is broken"));
  const storage = customStorage({
    read: refused,
    write: refused,
    subscribe() {
      throw new Error("the disk is broken");
    },
  });
  const page = await opened({ storage });
  const id = create(page);
  await page.sendMessage(id, "Why?");
  await page.respond("Because of waves");
  await expectRows(page, ["Why?: ready"]);
  expect(await page.list().search("waves")).toHaveLength(1);
  expect(page.events.map(({ type }) => type)).toContain("storage-error");
});

test("The list lasts as long as the page without a storage, also over a route change", async () => {
  const page = await opened();
  await page.sendMessage(create(page), "Why?");
  await page.respond("Because");
  await page.show({ activeId: "another" });
  await expectRows(page, ["Why?: ready"]);
  expect(page.events.map(({ type }) => type)).not.toContain("storage-error");
});

test("a server renders no conversation", async () => {
  const page = await opened({ storage: memoryStorage(), restoreMs: 60_000 });
  const [, two] = [create(page, "One"), create(page, "Two")];
  await waitFor(() => expect(page.rows()).toHaveLength(2));
  act(() => page.list().remove(two as string));
  expect([page.rows(), page.list().removed.length]).toEqual([["One: ready"], 1]);
  page.onServer();
  expect(page.list()).toMatchObject({ conversations: [], removed: [], isRestoring: true, total: 0 });
});

test("a row that did not change is the same object", async () => {
  const page = await opened({ storage: memoryStorage() });
  const [one, two] = [create(page, "One"), create(page, "Two")] as const;
  await waitFor(() => expect(page.rows()).toHaveLength(2));
  const findRow = (id: string) => page.list().conversations.find((row) => row.id === id);
  const before = findRow(one);
  act(() => page.list().update(two, { title: "2" }));
  expect(findRow(two)?.title).toBe("2");
  expect(findRow(one)).toBe(before);
});
