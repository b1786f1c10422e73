import type { ClientEvent, Store } from "@sluice/core";
import {
  type ChatStorage,
  createAssetStore,
  createChatStore,
  createImageStore,
  createVideoTaskList,
  createVideoTaskStore,
  indexedDBStorage,
  listVideoTasks,
  memoryStorage,
  signOut,
  webStorage,
} from "@sluice/stores";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  createTestClient,
  settled,
  stoppedClock,
  streamResponse,
  waitUntil,
} from "../../core/test/support/gateway.js";
import { streamText } from "../../core/test/support/reply-streams.js";
import { hasLocks, isLocked } from "../src/tabs/locks.js";

const video = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const createRefusal = () => new DOMException("access is denied in this context", "SecurityError");
const throwRefusal = () => {
  throw createRefusal();
};
const rejectWithRefusal = () => Promise.reject(createRefusal());
const waitForever = () => new Promise<never>(() => {});

afterEach(() => vi.unstubAllGlobals());

/** Opens a tab whose gateway responds to every request at once. */
function openTab() {
  const clock = stoppedClock();
  const events: ClientEvent[] = [];
  const { client, requests } = createTestClient(
    ({ url, method }) => {
      if (url.endsWith("chat/completions")) return streamResponse(streamText("Hello back"));
      if (url.endsWith("images/generations")) return Response.json({ data: [{ url: "https://cdn.test/i" }] });
      if (url.endsWith("CreateAsset")) return Response.json({ Id: "a-1" });
      if (url.endsWith("GetAsset")) return Response.json({ Status: "Active" });
      if (method === "POST") return Response.json({ id: "t-1", created_at: 1_755_000_000 });
      return Response.json({
        code: "success",
        data: { status: "SUCCESS", result_url: "https://cdn.test/v" },
      });
    },
    {
      clock,
      baseURL: `https://gateway-${Math.random()}.test`,
      gateway: { assetLookup: "/gamma/asset/GetAsset" },
      onEvent: (event) => events.push(event),
    },
  );
  const limits = () =>
    events.flatMap((event) => (event.type === "feature-unavailable" ? [event.feature] : []));
  const failures = () => events.filter(({ type }) => type === "storage-error");
  const posts = () => requests.filter(({ method }) => method === "POST");
  return { client, clock, requests, limits, failures, posts };
}

/** Waits until a store shows a state. Advances the clock by one second in small steps. */
async function waitForState<State>(
  { clock }: Pick<ReturnType<typeof openTab>, "clock">,
  store: Store<State>,
  isWanted: (state: State) => boolean,
): Promise<void> {
  const stop = store.subscribe(() => {});
  for (let turn = 1; !isWanted(store.getSnapshot()); turn += 1) {
    await settled();
    if (turn % 20 === 0) await clock.advance(1000);
  }
  stop();
}

const isOver = ({ status }: { readonly status: string }) => status === "success";

/**
 * Uses every store in a tab, and expects each to succeed without repeated requests: one POST for each store, and a second
 * one for the asset, whose state is a POST too.
 */
async function useEverything(tab: ReturnType<typeof openTab>, storage?: ChatStorage): Promise<void> {
  const { client, posts } = tab;
  const task = createVideoTaskStore(client, { storage });
  void task.create(video);
  await waitForState(tab, task, isOver);
  const asset = createAssetStore(client, { groupId: "group-1" });
  void asset.create("https://cdn.test/hero.png");
  await waitForState(tab, asset, isOver);
  const images = createImageStore(client, { model: "gamma-image-5-0-260128" });
  void images.generate({ prompt: "A reef at dawn" });
  await waitForState(tab, images, isOver);
  const chat = createChatStore(client, {
    id: "chat",
    model: "delta-5.3",
    storage: storage ?? memoryStorage(),
  });
  void chat.send("Hello");
  await waitForState(
    tab,
    chat,
    ({ status, messages }) => status === "ready" && messages[1]?.outcome === "complete",
  );
  chat.close();
  expect(posts()).toHaveLength(5);
}

describe("Web Locks that", () => {
  const noLocks = { held: [], pending: [] };
  test.each([
    ["reject", { request: rejectWithRefusal, query: rejectWithRefusal }],
    ["throw", { request: throwRefusal, query: throwRefusal }],
    ["reject requests alone", { request: rejectWithRefusal, query: async () => noLocks }],
    ["throw on requests alone", { request: throwRefusal, query: async () => noLocks }],
    ["never respond", { request: waitForever, query: waitForever }],
    ["are of another kind", {}],
  ])("%s let each tab work separately, which is reported once", async (_, locks) => {
    vi.stubGlobal("navigator", { locks });
    const tab = openTab();
    await useEverything(tab);
    expect(tab.limits()).toEqual(["web-locks"]);
    expect(tab.failures()).toEqual([]);
    const other = openTab();
    await useEverything(other);
    expect(other.limits()).toEqual(["web-locks"]);
  });

  test("cannot be reached let the tab work separately, which is reported once", async () => {
    vi.stubGlobal("navigator", {
      get locks() {
        return throwRefusal();
      },
    });
    const tab = openTab();
    await useEverything(tab);
    expect(tab.limits()).toEqual(["web-locks"]);
    expect(tab.failures()).toEqual([]);
  });

  test("respond late are used from then on, and no work is done twice", async () => {
    let resolveQuery: (snapshot: LockManagerSnapshot) => void = () => {};
    const first = new Promise<LockManagerSnapshot>((resolve) => {
      resolveQuery = resolve;
    });
    const requests: string[] = [];
    const locks = {
      query: () => first,
      request: async (name: string, _: object, act: () => Promise<void>) => {
        requests.push(name);
        await act();
      },
    };
    vi.stubGlobal("navigator", { locks });
    const tab = openTab();
    const task = createVideoTaskStore(tab.client);
    void task.create(video);
    await waitForState(tab, task, isOver);
    expect([tab.posts().length, requests.length]).toEqual([1, 0]);
    resolveQuery({});
    await settled();
    const again = createVideoTaskStore(tab.client);
    void again.create(video);
    await waitForState(tab, again, isOver);
    expect([tab.posts().length, requests.length > 0]).toEqual([2, true]);
    expect(tab.limits()).toEqual(["web-locks"]);
  });

  test("respond late to one query, as after a sleep, are used from then on", async () => {
    let wake: (snapshot: LockManagerSnapshot) => void = () => {};
    const asleep = new Promise<LockManagerSnapshot>((resolve) => {
      wake = resolve;
    });
    const queries = [Promise.resolve(noLocks), asleep];
    const query = async () => (await (queries.shift() ?? { held: [{ name: "a" }] })) as LockManagerSnapshot;
    vi.stubGlobal("navigator", { locks: { query, request: waitForever } });
    const { client, clock } = openTab();
    const late = isLocked(client, "a");
    await settled();
    await clock.advance(3000);
    expect([await late, hasLocks()]).toEqual([undefined, false]);
    wake(noLocks);
    await settled();
    expect([hasLocks(), await isLocked(client, "a")]).toEqual([true, true]);
  });

  test("never respond are waited for at most 3 seconds", async () => {
    vi.stubGlobal("navigator", { locks: { request: waitForever, query: waitForever } });
    const tab = openTab();
    const task = createVideoTaskStore(tab.client);
    void task.create(video);
    await settled();
    await tab.clock.advance(2999);
    expect([tab.posts().length, tab.limits()]).toEqual([0, []]);
    await tab.clock.advance(1);
    await settled();
    expect([tab.posts().length, tab.limits()]).toEqual([1, ["web-locks"]]);
    await waitForState(tab, task, isOver);
  });

  test("are held by another tab are waited for without a limit", async () => {
    let grant: () => void = () => {};
    const granted = new Promise<void>((resolve) => {
      grant = resolve;
    });
    vi.stubGlobal("navigator", {
      locks: {
        query: async () => noLocks,
        request: async (_: string, __: object, act: () => Promise<void>) => granted.then(act),
      },
    });
    const tab = openTab();
    const task = createVideoTaskStore(tab.client);
    task.subscribe(() => {});
    task.attach("t-1");
    await tab.clock.advance(3_600_000);
    expect(task.getSnapshot()).toMatchObject({ status: "pending", task: undefined });
    grant();
    await waitForState(tab, task, isOver);
    expect(tab.limits()).toEqual([]);
  });
});

test("A platform without Web Locks and channels supports all stores, and reports no limit", async () => {
  vi.stubGlobal("navigator", undefined);
  vi.stubGlobal("BroadcastChannel", undefined);
  const tab = openTab();
  await useEverything(tab);
  expect([tab.limits(), tab.failures()]).toEqual([[], []]);
});

test("A task that is reset during the query of the locks is neither stored nor sent", async () => {
  let refuse: ((error: Error) => void) | undefined;
  const query = () =>
    new Promise<never>((_, reject) => {
      refuse = reject;
    });
  vi.stubGlobal("navigator", { locks: { query, request: waitForever } });
  const { client, requests } = openTab();
  const stored = memoryStorage();
  const writes: string[] = [];
  const write: ChatStorage["write"] = (collection, records) => {
    writes.push(collection);
    return stored.write(collection, records);
  };
  const task = createVideoTaskStore(client, { storage: { ...stored, write } });
  void task.create(video);
  await waitUntil(() => refuse !== undefined, settled);
  task.reset();
  refuse?.(createRefusal());
  await settled();
  expect([requests.length, writes.length]).toEqual([0, 0]);
});

test("A refused lock is reported at once, and the manager is not used again", async () => {
  let requests = 0;
  const request = () => {
    requests += 1;
    return rejectWithRefusal();
  };
  vi.stubGlobal("navigator", { locks: { request, query: async () => ({ held: [] }) } });
  const tab = openTab();
  for (const id of ["t-1", "t-2"]) {
    const task = createVideoTaskStore(tab.client);
    task.attach(id);
    await waitForState(tab, task, isOver);
    expect(tab.limits()).toEqual(["web-locks"]);
  }
  expect(requests).toBe(1);
});

test("A chat whose lock is refused reports this, and gets its response", async () => {
  vi.stubGlobal("navigator", { locks: { request: rejectWithRefusal, query: async () => ({ held: [] }) } });
  const tab = openTab();
  const chat = createChatStore(tab.client, { id: "chat", model: "delta-5.3", storage: memoryStorage() });
  chat.subscribe(() => {});
  const { outcome } = await chat.send("Hello");
  await settled();
  expect([outcome, tab.limits()]).toEqual(["complete", ["web-locks"]]);
  chat.close();
});

test("A manager that refuses a later query is reported, and is not used again", async () => {
  let queries = 0;
  const query = async () => {
    queries += 1;
    return queries === 1 ? { held: [] } : rejectWithRefusal();
  };
  vi.stubGlobal("navigator", { locks: { query, request: waitForever } });
  const entry = { key: "a", model: video.model, submittedAt: Date.now(), state: "submitting", revision: 1 };
  for (const tab of [openTab(), openTab()]) {
    const storage = memoryStorage();
    await storage.write("video-tasks", new Map([["a", entry]]));
    await waitForState(
      tab,
      createVideoTaskList(tab.client, { storage }),
      ([first]) => first?.state === "unconfirmed",
    );
    expect(tab.limits()).toEqual(["web-locks"]);
  }
  // the first query of the manager, and two queries for the lock of the task
  expect(queries).toBe(3);
});

describe("a BroadcastChannel that", () => {
  const stubChannel = (constructed: () => void, postMessage: () => void) =>
    class extends EventTarget {
      constructor() {
        super();
        constructed();
      }
      postMessage() {
        postMessage();
      }
      close() {}
    };
  test.each([
    ["can't be made", stubChannel(throwRefusal, () => {})],
    ["refuses messages", stubChannel(() => {}, throwRefusal)],
  ])("%s lets each tab work separately, which is reported once", async (_, channel) => {
    vi.stubGlobal("BroadcastChannel", channel);
    const tab = openTab();
    await useEverything(tab);
    expect(tab.limits()).toEqual(["broadcast-channel"]);
  });

  test("gets a message of another script ignores it", async () => {
    const channels: EventTarget[] = [];
    vi.stubGlobal(
      "BroadcastChannel",
      class extends EventTarget {
        constructor() {
          super();
          channels.push(this);
        }
        postMessage() {}
        close() {}
      },
    );
    const tab = openTab();
    const task = createVideoTaskStore(tab.client);
    task.subscribe(() => {});
    task.attach("t-1");
    for (const data of [null, 5, "text", {}, { type: "hello" }, { type: "other" }, []])
      for (const channel of channels) channel.dispatchEvent(new MessageEvent("message", { data }));
    await waitForState(tab, task, isOver);
  });
});

describe("a browser's storage that", () => {
  class FakeRequest extends EventTarget {
    error = createRefusal();
  }
  /** Creates an `indexedDB` whose `open` ends with an event. */
  const stubIndexedDB = (open: (() => unknown) | undefined) => {
    vi.stubGlobal("indexedDB", open && { open });
    vi.stubGlobal("IDBRequest", FakeRequest);
    return indexedDBStorage({ name: `refused-${Math.random()}` });
  };
  const failToOpen = () => {
    const request = new FakeRequest();
    queueMicrotask(() => request.dispatchEvent(new Event("error")));
    return request;
  };
  test.each([
    ["throws on open (IndexedDB)", "indexed-db", () => stubIndexedDB(throwRefusal)],
    ["fails to open (IndexedDB)", "indexed-db", () => stubIndexedDB(failToOpen)],
    ["is absent (IndexedDB)", "indexed-db", () => stubIndexedDB(undefined)],
    ["can't be reached (localStorage)", "web-storage", () => webStorage(throwRefusal)],
    ["is absent (localStorage)", "web-storage", () => webStorage(() => null as never)],
  ] as const)(
    "%s leaves chats and tasks in memory, which is reported once",
    async (_, feature, createStorage) => {
      const tab = openTab();
      const storage = createStorage();
      await useEverything(tab, storage);
      expect(tab.limits()).toEqual([feature]);
      expect(tab.failures()).toEqual([]);
      expect(await listVideoTasks(tab.client, { storage })).toMatchObject([{ handle: { id: "t-1" } }]);
    },
  );

  test("never responds (IndexedDB) is waited for 3 seconds", async () => {
    const tab = openTab();
    await useEverything(
      tab,
      stubIndexedDB(() => new FakeRequest()),
    );
    expect(tab.failures()[0]).toMatchObject({ error: { name: "TimeoutError" } });
    expect(tab.limits()).toEqual([]);
  });

  test("is full is reported once for the chat and once for the videos, until there is space", async () => {
    const full = () => Promise.reject(new DOMException("no room", "QuotaExceededError"));
    const tab = openTab();
    await useEverything(tab, { ...memoryStorage(), write: full });
    expect(tab.failures()).toHaveLength(2);
    expect(tab.limits()).toEqual([]);
  });

  test("responds late shows its tasks then", async () => {
    const storage = memoryStorage();
    const stored = {
      key: "k",
      model: "m",
      submittedAt: 1,
      state: "created",
      handle: { id: "t-9" },
      revision: 1,
    };
    await storage.write("video-tasks", new Map([["k", stored]]));
    let resumeReads: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      resumeReads = resolve;
    });
    const tab = openTab();
    const list = createVideoTaskList(tab.client, {
      storage: { ...storage, read: (collection) => held.then(() => storage.read(collection)) },
    });
    list.subscribe(() => {});
    await tab.clock.advance(3000);
    expect([list.getSnapshot().length, tab.failures().length]).toEqual([0, 1]);
    resumeReads();
    await waitForState(tab, list, ([entry]) => entry?.task?.state === "succeeded");
  });
});

test("A user can sign out in a page whose localStorage is refused", async () => {
  vi.stubGlobal("localStorage", undefined);
  Object.defineProperty(globalThis, "localStorage", { configurable: true, get: throwRefusal });
  expect(await signOut(openTab().client)).toEqual({ unsent: 0, errors: [] });
});
