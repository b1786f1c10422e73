import type { Clock } from "@sluice/core";
import {
  type ChatStorage,
  createChatStore,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
} from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createTestClient, settled, stoppedClock, streamResponse } from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { until } from "./support/chat.js";

afterEach(() => vi.unstubAllGlobals());

type Failure = "full" | "closed" | "hanging" | undefined;

/** Creates a storage that fails and recovers. `writes` has the keys of each attempted write. */
function createFailingStorage() {
  const inner = memoryStorage();
  const writes: string[][] = [];
  const disk = {
    inner,
    writes,
    failure: undefined as Failure,
    /** Returns true for a record that is always rejected. */
    refuses: (_: unknown): boolean => false,
    reads: "well" as "well" | "failing",
  };
  const storage: ChatStorage = {
    ...inner,
    read: (collection) =>
      disk.reads === "failing"
        ? Promise.reject(new DOMException("closed", "InvalidStateError"))
        : inner.read(collection),
    async write(collection, changes) {
      writes.push([...changes.keys()]);
      const { failure } = disk;
      if (failure === "hanging") await new Promise(() => {});
      if (failure === "full") throw new DOMException("no room", "QuotaExceededError");
      if (failure === "closed") throw new DOMException("closed", "InvalidStateError");
      if ([...changes.values()].some(disk.refuses)) throw new DOMException("no copy", "DataCloneError");
      await inner.write(collection, changes);
    },
  };
  return { disk, storage };
}

/** Opens a page with a chat over a storage. The response to each question is "to " and its text. */
function openPage(storage: ChatStorage, clock = stoppedClock()) {
  const events: string[] = [];
  const { client, requests } = createTestClient(
    async (request) => {
      const { messages } = await request.json();
      return streamResponse(streamText(`to ${messages.at(-1).content}`));
    },
    {
      clock,
      random: () => 0.5,
      onEvent: ({ type, ...event }) => {
        if (type === "storage-error") events.push(`failure ${"messageId" in event ? "of one" : ""}`.trim());
        if (type === "storage-recovered") events.push("recovered");
      },
    },
  );
  const chat = createChatStore(client, { id: "a", model: "delta-5.3", storage });
  chat.subscribe(() => {});
  const texts = () => chat.getSnapshot().messages.map(({ content }) => content);
  const unsaved = () => chat.getSnapshot().persistence?.pending ?? Number.NaN;
  async function sendMessages(...questions: readonly string[]): Promise<void> {
    for (const question of questions) {
      // a request waits for the write of its draft, for a moment
      await clock.advanceUntil(chat.send(question), 100);
      await settled();
    }
  }
  return { chat, client, clock, events, requests, texts, unsaved, sendMessages };
}

/** Lists the texts that a page shows after a reload. */
async function reload(storage: ChatStorage): Promise<readonly string[]> {
  const { chat, texts } = openPage(storage);
  await until(chat, ({ persistence }) => persistence?.status !== "restoring");
  return texts();
}

const turns = (...questions: readonly string[]) => questions.flatMap((text) => [text, `to ${text}`]);

describe("A chat whose storage fails", () => {
  test.each<[Failure]>([["full"], ["closed"], ["hanging"]])(
    "has all of its messages after a reload, if the storage was %s and works again",
    async (failure) => {
      const { disk, storage } = createFailingStorage();
      const page = openPage(storage);
      await page.sendMessages("a");
      disk.failure = failure;
      await page.sendMessages("b", "c");
      await page.clock.advance(10_000);
      expect(page.unsaved()).toBe(4);
      disk.failure = undefined;
      await page.sendMessages("d", "e");
      // a stalled write delays the next one by 3 s
      if (failure === "hanging") await page.clock.advance(3000);
      expect(page.unsaved()).toBe(0);
      expect(await reload(disk.inner)).toEqual(turns("a", "b", "c", "d", "e"));
      expect(page.events).toEqual(["failure", "recovered"]);
    },
  );

  test("writes unsaved messages when the storage recovers, without a new message", async () => {
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    disk.failure = "full";
    await page.sendMessages("a", "b");
    await page.clock.advance(600_000);
    disk.failure = undefined;
    await page.clock.advance(60_000);
    expect(page.unsaved()).toBe(0);
    expect(await reload(disk.inner)).toEqual(turns("a", "b"));
  });

  test("writes unsaved messages when the chat is closed, or later when the storage recovers", async () => {
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    disk.failure = "closed";
    await page.sendMessages("a");
    const before = disk.writes.length;
    page.chat.close();
    await settled();
    disk.failure = undefined;
    await page.clock.advance(60_000);
    expect(disk.writes.length).toBeGreaterThan(before);
    expect(await reload(disk.inner)).toEqual(turns("a"));
  });

  test("writes unsaved messages at page unload without waiting, and rejected messages separately", async () => {
    const window = new EventTarget();
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    const { disk, storage } = createFailingStorage();
    disk.refuses = (record) => JSON.stringify(record)?.includes("poison") ?? false;
    const page = openPage(storage);
    await page.sendMessages("a poison");
    disk.failure = "full";
    await page.sendMessages("b", "c");
    disk.failure = undefined;
    disk.writes.length = 0;
    window.dispatchEvent(new Event("pagehide"));
    // all writes have begun, because a closing page does nothing later
    expect(disk.writes.map(({ length }) => length)).toEqual([5, 2]);
    await settled();
    // the storage has an earlier copy of the rejected response
    expect(await reload(disk.inner)).toEqual(["", ...turns("b", "c")]);
  });

  test("writes the last text at page unload even if an earlier write hangs", async () => {
    const window = new EventTarget();
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    await page.sendMessages("a");
    disk.failure = "hanging";
    void page.chat.send("b");
    await page.clock.advance(1000);
    expect(page.texts()).toEqual(turns("a", "b"));
    disk.failure = undefined;
    window.dispatchEvent(new Event("pagehide"));
    await settled();
    expect(await reload(disk.inner)).toEqual(turns("a", "b"));
  });

  test("shows no unsaved message while writes succeed", async () => {
    const { storage } = createFailingStorage();
    const page = openPage(storage);
    const seen = new Set<number>();
    page.chat.subscribe(() => seen.add(page.unsaved()));
    await page.sendMessages("a", "b");
    expect([...seen]).toEqual([0]);
    expect(page.events).toEqual([]);
  });

  test("retries a message that the storage always rejects, with one event, few writes and without delaying the others", async () => {
    const { disk, storage } = createFailingStorage();
    disk.refuses = (record) => JSON.stringify(record)?.includes("poison") ?? false;
    const page = openPage(storage);
    await page.sendMessages("a", "poison", "c");
    expect(page.unsaved()).toBe(2);
    expect(page.events).toEqual(["failure of one", "failure of one"]);
    // the storage has an earlier copy of the response
    expect(await reload(disk.inner)).toEqual([...turns("a"), "", ...turns("c")]);
    disk.writes.length = 0;
    await page.clock.advance(3_600_000);
    // one hour: once a minute, in at most five batches
    expect(disk.writes.length).toBeLessThan(6 * 70);
    disk.writes.length = 0;
    // right after an attempt, the next one is far away
    while (disk.writes.length === 0) await page.clock.advance(1000);
    disk.writes.length = 0;
    await page.sendMessages("d");
    // the question and the response; then again the response, whose earlier copy was read
    expect(disk.writes.length).toBeLessThan(7);
    expect(disk.writes.flat()).not.toContain(page.chat.getSnapshot().messages[2]?.id);
    disk.refuses = () => false;
    await page.clock.advance(120_000);
    expect(page.unsaved()).toBe(0);
    expect(page.events.at(-1)).toBe("recovered");
    expect(await reload(disk.inner)).toEqual(turns("a", "poison", "c", "d"));
  });

  test("says in `persistence` what is stored, and why the rest is not", async () => {
    const { disk, storage } = createFailingStorage();
    await openPage(disk.inner).sendMessages("a");
    disk.reads = "failing";
    const { chat, clock, sendMessages } = openPage(storage);
    const persistence = () => chat.getSnapshot().persistence;
    expect(persistence()).toEqual({ status: "restoring", pending: 0 });
    await until(chat, () => persistence()?.status !== "restoring");
    expect(persistence()).toEqual({ status: "error", pending: 0, error: expect.any(Error) });
    disk.reads = "well";
    await clock.advance(600_000);
    expect(persistence()).toEqual({ status: "saved", pending: 0 });
    disk.failure = "full";
    await sendMessages("b");
    await clock.advance(1000);
    expect(persistence()).toEqual({ status: "unsaved", pending: 2, error: expect.any(Error) });
  });

  test("needs few writes in a long outage with any number of messages", async () => {
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    await until(page.chat, ({ persistence }) => persistence?.status !== "restoring");
    disk.failure = "closed";
    page.chat.setMessages(
      Array.from({ length: 2000 }, (_, nth) => ({ role: nth % 2 ? "assistant" : "user", content: `${nth}` })),
    );
    await settled();
    const first = disk.writes.length;
    expect(first).toBeLessThan(20);
    await page.clock.advance(600_000);
    expect(disk.writes.length - first).toBeLessThan(20 * 10);
    expect(Math.max(...disk.writes.slice(first).map(({ length }) => length))).toBeLessThan(20);
    disk.failure = undefined;
    await page.clock.advance(60_000);
    expect(page.unsaved()).toBe(0);
    expect(await reload(disk.inner)).toHaveLength(2000);
  });

  test("writes accepted messages behind many rejected ones", async () => {
    const { disk, storage } = createFailingStorage();
    disk.refuses = (record) => JSON.stringify(record)?.includes("poison") ?? false;
    const page = openPage(storage);
    await until(page.chat, ({ persistence }) => persistence?.status !== "restoring");
    const content = Array.from({ length: 60 }, (_, nth) => (nth < 50 ? `poison ${nth}` : `${nth}`));
    page.chat.setMessages(content.map((text) => ({ role: "user", content: text })));
    await page.clock.advance(600_000);
    expect(page.unsaved()).toBe(50);
    expect(await reload(disk.inner)).toEqual(content.slice(50));
  });

  test("does not restore a message that was removed while the storage failed", async () => {
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    await page.sendMessages("a", "b");
    disk.failure = "full";
    page.chat.reset();
    await settled();
    expect(page.unsaved()).toBe(4);
    disk.failure = undefined;
    await page.clock.advance(10_000);
    expect([page.unsaved(), await reload(disk.inner)]).toEqual([0, []]);
  });

  test("shows the stored records as soon as a failing storage can be read", async () => {
    const { disk, storage } = createFailingStorage();
    await openPage(storage).sendMessages("a");
    disk.reads = "failing";
    const page = openPage(storage);
    await until(page.chat, ({ persistence }) => persistence?.status !== "restoring");
    await page.clock.advance(300_000);
    expect(page.texts()).toEqual([]);
    disk.reads = "well";
    await page.clock.advance(60_000);
    expect(page.texts()).toEqual(turns("a"));
  });
});

/** Creates a storage that stalls. Its pending operations run in order when it recovers. */
function createStallingStorage(clock: Clock, { eachMs }: { readonly eachMs: number }) {
  const inner = memoryStorage();
  const waiting: (() => Promise<void>)[] = [];
  const disk = {
    inner,
    /** Number of attempted writes. */
    requestCount: 0,
    hangs: true,
    get unanswered() {
      return waiting.length;
    },
    /** Runs the pending operations, and all later ones at once. */
    async recover() {
      disk.hangs = false;
      while (waiting.length > 0) await waiting.shift()?.();
    },
  };
  const storage: ChatStorage = {
    ...inner,
    async write(collection, changes) {
      disk.requestCount += 1;
      const work = async () => {
        await clock.sleep(eachMs);
        await inner.write(collection, changes);
      };
      if (!disk.hangs && waiting.length === 0) return work();
      await new Promise<void>((resolve, reject) => {
        waiting.push(() => work().then(resolve, reject));
      });
    },
  };
  return { disk, storage };
}

describe("A chat whose storage stalls for hours", () => {
  const hours = (count: number) => count * 3_600_000;

  test("sends few writes, shows unsaved messages, and stores all soon after the storage recovers", async () => {
    const clock = stoppedClock();
    const { disk, storage } = createStallingStorage(clock, { eachMs: 5000 });
    const page = openPage(storage, clock);
    await page.sendMessages("a", "b");
    await clock.advance(hours(7));
    await page.sendMessages("c");
    expect(page.unsaved()).toBe(6);
    expect(disk.unanswered).toBeLessThan(25);
    const recovered = disk.recover();
    await clock.advance(180_000);
    await recovered;
    expect(page.unsaved()).toBe(0);
    expect(await reload(disk.inner)).toEqual(turns("a", "b", "c"));
    expect(page.events).toEqual(["failure", "recovered"]);
  });

  test("does not send more writes if the user continues to chat", async () => {
    const clock = stoppedClock();
    const { disk, storage } = createStallingStorage(clock, { eachMs: 10 });
    const page = openPage(storage, clock);
    const questions = Array.from({ length: 60 }, (_, nth) => `${nth}`);
    for (const question of questions) {
      await page.sendMessages(question);
      await clock.advance(60_000);
    }
    expect(page.unsaved()).toBe(120);
    expect(disk.unanswered).toBeLessThan(25);
    const recovered = disk.recover();
    await clock.advance(30_000);
    await recovered;
    expect([page.unsaved(), await reload(disk.inner)]).toEqual([0, turns(...questions)]);
  });

  test("writes unsaved messages at page unload despite the pause", async () => {
    const window = new EventTarget();
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    const clock = stoppedClock();
    const { disk, storage } = createStallingStorage(clock, { eachMs: 10 });
    const page = openPage(storage, clock);
    await page.sendMessages("a");
    await clock.advance(hours(1));
    await page.sendMessages("b");
    disk.hangs = false;
    window.dispatchEvent(new Event("pagehide"));
    const recovered = disk.recover();
    await clock.advance(1000);
    await recovered;
    expect(await reload(disk.inner)).toEqual(turns("a", "b"));
  });

  test("tries again after growing waits if the storage has lost the pending writes", async () => {
    const { disk, storage } = createFailingStorage();
    const page = openPage(storage);
    disk.failure = "hanging";
    await page.sendMessages("a");
    await page.clock.advance(hours(1));
    const requestCount = disk.writes.length;
    expect(requestCount).toBeLessThan(25);
    disk.failure = undefined;
    await page.clock.advance(hours(2));
    expect(page.unsaved()).toBe(0);
    expect(await reload(disk.inner)).toEqual(turns("a"));
    // the storage works as before
    await page.sendMessages("b");
    expect(page.unsaved()).toBe(0);
    expect(await reload(disk.inner)).toEqual(turns("a", "b"));
  });

  test("does not restore a message that was removed while a write of it hung", async () => {
    const clock = stoppedClock();
    const { disk, storage } = createStallingStorage(clock, { eachMs: 10 });
    const page = openPage(storage, clock);
    await page.sendMessages("a");
    await clock.advance(hours(1));
    page.chat.reset();
    await page.sendMessages("b");
    const recovered = disk.recover();
    await clock.advance(10_000);
    await recovered;
    expect([page.unsaved(), await reload(disk.inner)]).toEqual([0, turns("b")]);
  });
});

test("The end that a tab wrote late replaces the interrupted end that another tab wrote for it", async () => {
  const end = (outcome: string, content: string, error?: object) => ({
    message: { id: "2", role: "assistant", content, outcome, ...(error && { error }) },
    parent: "1",
    revision: 3,
  });
  const question = { message: { id: "1", role: "user", content: "Hello" }, parent: null, revision: 0 };
  const [known, guessed] = [end("complete", "Whole"), end("truncated", "Who", { reason: "interrupted" })];
  for (const order of [
    [known, guessed],
    [guessed, known],
  ]) {
    const storage = memoryStorage();
    await storage.write("chat/a", new Map<string, unknown>([["1", question]]));
    const page = openPage(storage);
    await until(page.chat, ({ persistence }) => persistence?.status !== "restoring");
    for (const record of order) {
      await storage.write("chat/a", new Map([["2", record]]));
      await settled();
    }
    expect(page.texts()).toEqual(["Hello", "Whole"]);
    expect(await reload(storage)).toEqual(["Hello", "Whole"]);
  }
});

describe("A list of videos whose storage fails", () => {
  const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
  const open = (storage: ChatStorage) => {
    const clock = stoppedClock();
    let made = 0;
    const { client } = createTestClient(
      () => {
        made += 1;
        return Response.json({ id: `video-${made}`, created_at: 1 });
      },
      { clock },
    );
    const create = () => createVideoTaskStore(client, { storage }).create(request);
    const list = async () => (await listVideoTasks(client, { storage })).map(({ handle }) => handle?.id);
    return { clock, create, list };
  };

  test("has every paid task after a reload, if the storage recovers", async () => {
    const { disk, storage } = createFailingStorage();
    const page = open(storage);
    disk.failure = "full";
    await page.create();
    await page.create();
    disk.failure = undefined;
    await page.clock.advance(10_000);
    expect((await open(disk.inner).list()).sort()).toEqual(["video-1", "video-2"]);
  });

  test("shows the stored records as soon as a failing storage can be read", async () => {
    const { disk, storage } = createFailingStorage();
    await open(storage).create();
    disk.reads = "failing";
    const page = open(storage);
    expect(await page.list()).toEqual([]);
    disk.reads = "well";
    await page.clock.advance(10_000);
    expect(await page.list()).toEqual(["video-1"]);
  });

  test("A list shows its stored tasks even if the first read timed out and then failed", async () => {
    const { disk, storage } = createFailingStorage();
    await open(storage).create();
    let fail = (_: unknown): void => {};
    const hanging = () =>
      new Promise<never>((_, reject) => {
        fail = reject;
      });
    let reads = 0;
    const page = open({ ...storage, read: (name) => (reads++ === 0 ? hanging() : disk.inner.read(name)) });
    const listed = page.list();
    await page.clock.advance(3000);
    expect(await listed).toEqual([]);
    fail(new DOMException("closed", "InvalidStateError"));
    await page.clock.advance(10_000);
    expect(await page.list()).toEqual(["video-1"]);
  });

  test("writes unsaved tasks at page unload", async () => {
    const window = new EventTarget();
    vi.stubGlobal("addEventListener", window.addEventListener.bind(window));
    const { disk, storage } = createFailingStorage();
    const page = open(storage);
    disk.failure = "full";
    await page.create();
    disk.failure = undefined;
    window.dispatchEvent(new Event("pagehide"));
    await settled();
    expect(await open(disk.inner).list()).toEqual(["video-1"]);
  });

  test("sends a request within 3 s even if two earlier writes hang", async () => {
    const { disk, storage } = createFailingStorage();
    const page = open(storage);
    disk.failure = "hanging";
    const [first, second] = [page.create(), page.create()];
    // each waits for its first entry, and for the entry with its handle
    await page.clock.advance(6000);
    expect((await Promise.all([first, second])).map(({ handle }) => handle?.id).sort()).toEqual([
      "video-1",
      "video-2",
    ]);
  });
});
