import type { Clock } from "@sluice/core";
import {
  type ChatStorage,
  createAssetStore,
  createImageStore,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
} from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { stoppedClock, waitUntil } from "../../core/test/support/gateway.js";
import { openOnce } from "../../core/test/support/once.js";

const once = { retry: { limit: 0 } };
const createFailure = (status: number, code = "busy") =>
  Response.json({ error: { message: "no", code } }, { status });

/** Creates a `headers` function for which requests wait between `wait` and `goOn`. */
function createWaitingHeaders() {
  let onWait: (() => void) | undefined;
  return {
    headers: () => {
      if (!onWait) return {};
      onWait();
      return new Promise<never>(() => {});
    },
    /** Makes the next requests wait. Resolves when one waits. */
    wait: () =>
      new Promise<void>((resolve) => {
        onWait = resolve;
      }),
    goOn() {
      onWait = undefined;
    },
  };
}

describe("an image store behind a proxy with idempotency", () => {
  const images = Response.json({ data: [{ url: "https://files.test/1.png" }] });
  const reef = { prompt: "A reef" };

  function openStore(gateway: (nth: number) => Response | Promise<Response> = () => images.clone()) {
    const proxy = openOnce(gateway, once);
    return { ...proxy, store: createImageStore(proxy.page(), { model: "gamma-image-5-0-260128" }) };
  }

  test("gets lost images by the same request, even if they are lost repeatedly, and pays once", async () => {
    const { store, sent, keys, lose } = openStore();
    lose();
    lose();
    expect([
      (await store.generate(reef)).error?.billing,
      (await store.generate(reef)).error?.billing,
    ]).toEqual(["maybe", "maybe"]);
    expect((await store.generate({ ...reef, size: undefined })).status).toBe("success");
    expect([sent.length, new Set(keys).size, keys.length]).toEqual([1, 1, 3]);
  });

  test("pays again for the same request after the images have arrived", async () => {
    const { store, sent, keys, lose } = openStore();
    lose();
    for (let nth = 0; nth < 3; nth += 1) await store.generate(reef);
    expect([sent.length, new Set(keys).size]).toEqual([2, 2]);
  });

  test("pays again for another request, and then for the first request", async () => {
    const { store, sent, lose } = openStore();
    lose();
    await store.generate(reef);
    await store.generate({ prompt: "A wreck" });
    await store.generate(reef);
    expect(sent).toHaveLength(3);
  });

  test.each([500, 408, 422, 400])("uses a new key after a %i response", async (status) => {
    const { store, keys } = openStore((nth) => (nth === 1 ? createFailure(status) : images.clone()));
    await store.generate(reef);
    expect((await store.generate(reef)).status).toBe("success");
    expect(new Set(keys).size).toBe(2);
  });

  test("reuses the key after the proxy has rejected a repetition, because the first request may be billed", async () => {
    const { store, sent, keys, lose, turnAway } = openStore();
    lose();
    await store.generate(reef);
    turnAway(401);
    expect((await store.generate(reef)).error?.billing).toBe("none");
    turnAway(429);
    await store.generate(reef);
    expect((await store.generate(reef)).status).toBe("success");
    expect([sent.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("uses a new key after the user has stopped the request", async () => {
    const { store, keys } = openStore((nth) => (nth === 1 ? new Promise(() => {}) : images.clone()));
    const generated = store.generate(reef);
    await expect.poll(() => keys.length).toBe(1);
    store.stop();
    await generated;
    expect((await store.generate(reef)).status).toBe("success");
    expect(new Set(keys).size).toBe(2);
  });

  test.each(["stop", "reset"] as const)(
    "gets lost images and pays once if the user called %s before the repetition was sent",
    async (method) => {
      const { page, sent, keys, lose } = openOnce(() => images.clone(), once);
      const { headers, wait, goOn } = createWaitingHeaders();
      const store = createImageStore(page({ headers }), { model: "gamma-image-5-0-260128" });
      lose();
      await store.generate(reef);
      wait();
      const repeated = store.generate(reef);
      store[method]();
      expect((await repeated).error?.billing).toBe("none");
      goOn();
      expect((await store.generate(reef)).status).toBe("success");
      expect([sent.length, new Set(keys).size, keys.length]).toEqual([1, 1, 2]);
    },
  );
});

describe("an asset store behind a proxy with idempotency", () => {
  function openStore() {
    const proxy = openOnce((nth) => Response.json({ Id: `a-${nth}` }), {
      ...once,
      gateway: { assetLookup: async () => ({ Status: "Active" }) },
    });
    return { ...proxy, store: createAssetStore(proxy.page(), { groupId: "g" }) };
  }

  test.each([
    ["a file", () => new File(["bytes"], "reef.png", { type: "image/png" })],
    ["an address", () => new URL("https://files.test/reef.png")],
  ])("registers %s once, even if the response was lost", async (_, createSource) => {
    const { store, sent, keys, lose } = openStore();
    const source = createSource();
    lose();
    expect((await store.create(source)).status).toBe("error");
    const other = source instanceof URL ? new URL(source) : source;
    expect((await store.create(other)).handle).toMatchObject({ id: "a-1" });
    expect([sent.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("registers a URL once if its store was reset before the repetition was sent", async () => {
    const { page, sent, keys, lose } = openOnce((nth) => Response.json({ Id: `a-${nth}` }), {
      ...once,
      gateway: { assetLookup: async () => ({ Status: "Active" }) },
    });
    const { headers, wait, goOn } = createWaitingHeaders();
    const store = createAssetStore(page({ headers }), { groupId: "g" });
    lose();
    await store.create("https://files.test/reef.png");
    wait();
    const repeated = store.create("https://files.test/reef.png");
    await expect.poll(() => store.getSnapshot().phase).toBe("creating");
    store.reset();
    await repeated;
    goOn();
    expect((await store.create("https://files.test/reef.png")).handle).toMatchObject({ id: "a-1" });
    expect([sent.length, new Set(keys).size, keys.length]).toEqual([1, 1, 2]);
  });

  test("registers another file as another asset", async () => {
    const { store, sent, lose } = openStore();
    lose();
    await store.create(new File(["bytes"], "reef.png", { type: "image/png" }));
    await store.create(new File(["bytes"], "reef.png", { type: "image/png" }));
    store.reset();
    await store.create("https://files.test/reef.png", { name: "hero" });
    expect(sent).toHaveLength(3);
  });
});

describe("a video behind a proxy with idempotency", () => {
  const reef = { model: "beta3.0-video", input: { prompt: "A reef" } } as const;

  const createVideo = (nth: number) => Response.json({ id: `t-${nth}`, created_at: 1 });

  const openStore = (
    gateway: (nth: number) => Response | Promise<Response> = createVideo,
    options: Parameters<typeof openOnce>[1] = {},
  ) => {
    const proxy = openOnce(gateway, { ...once, ...options });
    /** Opens a page over a storage. */
    const visit = (storage: ChatStorage, clock?: Clock) => {
      const client = proxy.page(clock && { clock });
      const video = createVideoTaskStore(client, { storage });
      return { video, entries: () => listVideoTasks(client, { storage }) };
    };
    return { ...proxy, visit };
  };

  test("is paid once and listed once if the response was lost", async () => {
    const { visit, sent, keys, lose } = openStore();
    const { video, entries } = visit(memoryStorage());
    lose();
    expect((await video.create(reef)).status).toBe("error");
    expect(await entries()).toMatchObject([{ state: "unconfirmed" }]);
    expect((await video.create(reef)).handle).toMatchObject({ id: "t-1" });
    expect([sent.length, new Set(keys).size]).toEqual([1, 1]);
    const [entry, ...others] = await entries();
    expect([entry?.state, others]).toEqual(["created", []]);
    expect(entry).not.toHaveProperty("fingerprint");
  });

  test("is paid once if the page was reloaded after the response was lost", async () => {
    const { visit, sent, lose } = openStore();
    const storage = memoryStorage();
    lose();
    await visit(storage).video.create(reef);
    const { video, entries } = visit(storage);
    expect((await video.create(reef)).handle).toMatchObject({ id: "t-1" });
    expect(sent).toHaveLength(1);
    expect(await entries()).toMatchObject([{ state: "created" }]);
  });

  test("is paid once if the page was killed while it waited", async () => {
    const { visit, sent, keys, lose } = openStore();
    const storage = memoryStorage();
    const kill = lose("never");
    const killed = visit(storage).video.create(reef);
    await expect.poll(() => sent.length).toBe(1);
    const left = memoryStorage();
    await left.write("video-tasks", await storage.read("video-tasks"));
    // the locks of the page are released when it is killed
    kill();
    await killed;
    expect((await visit(left).video.create(reef)).handle).toMatchObject({ id: "t-1" });
    expect([sent.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("is paid once if its page is killed and another open page sends the same request at once", async () => {
    const { visit, sent, keys, lose } = openStore();
    const storage = memoryStorage();
    const kill = lose("never");
    const killed = visit(storage).video.create(reef);
    await expect.poll(() => sent.length).toBe(1);
    const left = memoryStorage();
    await left.write("video-tasks", await storage.read("video-tasks"));
    const clock = stoppedClock();
    const { video, entries } = visit(left, clock);
    // the other page has seen that the first one waits
    await entries();
    kill();
    await killed;
    // a browser releases the locks of a page a moment after its end
    const isHeld = async () => {
      const { held = [] } = (await globalThis.navigator?.locks?.query()) ?? {};
      return held.some(({ name }) => name?.includes(String(keys[0])));
    };
    await expect.poll(isHeld).toBe(false);
    const created = await clock.advanceUntil(video.create(reef), 500);
    expect(created.handle).toMatchObject({ id: "t-1" });
    expect([sent.length, new Set(keys).size]).toEqual([1, 1]);
  });

  test("is another video if the page with the same request still waits", async () => {
    const { visit, sent, lose } = openStore();
    const storage = memoryStorage();
    const end = lose("never");
    const first = visit(storage).video.create(reef);
    await expect.poll(() => sent.length).toBe(1);
    const left = memoryStorage();
    await left.write("video-tasks", await storage.read("video-tasks"));
    const second = await visit(left).video.create(reef);
    expect([second.handle?.id, sent.length]).toEqual(["t-2", 2]);
    end();
    await first;
  });

  test("stays in the list if another page sends the same request before it gets the record of the video", async () => {
    let respond: (response: Response) => void = () => {};
    const first = new Promise<Response>((resolve) => {
      respond = resolve;
    });
    const { visit, sent, keys } = openStore((nth) => (nth === 1 ? first : createVideo(nth)), {
      features: null,
    });
    const storage = memoryStorage();
    const held: (() => void)[] = [];
    const late: ChatStorage = {
      ...storage,
      subscribe: (collection, listener) =>
        storage.subscribe(collection, (changes) => void held.push(() => listener(changes))),
    };
    const made = visit(storage).video.create(reef);
    await expect.poll(() => sent.length).toBe(1);
    const clock = stoppedClock();
    const { video, entries } = visit(late, clock);
    expect(await entries()).toMatchObject([{ state: "submitting" }]);
    respond(createVideo(1));
    expect((await made).handle?.id).toBe("t-1");
    const another = video.create(reef);
    const notifyAll = () => {
      for (const tell of held.splice(0)) tell();
    };
    await waitUntil(() => clock.sleeping() > 0);
    notifyAll();
    expect((await clock.advanceUntil(another, 500)).handle?.id).toBe("t-2");
    notifyAll();
    expect((await entries()).map(({ handle }) => handle?.id).sort()).toEqual(["t-1", "t-2"]);
    expect(new Set(keys).size).toBe(2);
  });

  test("is paid once if its store was reset before the repetition was sent", async () => {
    const { page, sent, keys, lose } = openOnce(createVideo, once);
    const { headers, wait, goOn } = createWaitingHeaders();
    const client = page({ headers });
    const storage = memoryStorage();
    const video = createVideoTaskStore(client, { storage });
    const entries = () => listVideoTasks(client, { storage });
    lose();
    await video.create(reef);
    const isWaiting = wait();
    const repeated = video.create(reef);
    await isWaiting;
    video.reset();
    await repeated;
    expect(await entries()).toMatchObject([{ state: "unconfirmed" }]);
    goOn();
    expect((await video.create(reef)).handle).toMatchObject({ id: "t-1" });
    expect([sent.length, new Set(keys).size, keys.length]).toEqual([1, 1, 2]);
  });

  test("is paid once if two pages repeat the lost request at once", async () => {
    const { visit, sent, lose } = openStore();
    const storage = memoryStorage();
    lose();
    await visit(storage).video.create(reef);
    const pages = [visit(storage), visit(storage)];
    const states = await Promise.all(pages.map(({ video }) => video.create(reef)));
    expect(states.map(({ handle }) => handle?.id)).toEqual(["t-1", "t-1"]);
    expect(sent).toHaveLength(1);
  });

  test("is another video for another request, and for the same request after its task is known", async () => {
    const { visit, sent, lose } = openStore();
    const { video, entries } = visit(memoryStorage());
    lose();
    await video.create(reef);
    await video.create({ ...reef, input: { prompt: "A wreck" } });
    video.reset();
    await video.create(reef);
    video.reset();
    await video.create(reef);
    expect([sent.length, (await entries()).length]).toEqual([3, 3]);
  });

  test("stays unconfirmed if its repetition is rejected, and is new if the key was used with another body", async () => {
    const { visit, sent, keys, lose, turnAway } = openStore();
    const { video, entries } = visit(memoryStorage());
    lose();
    await video.create(reef);
    turnAway(401);
    expect((await video.create(reef)).error).toMatchObject({ billing: "none" });
    expect(await entries()).toMatchObject([{ state: "unconfirmed" }]);
    turnAway(422);
    await video.create(reef);
    expect(await entries()).toMatchObject([{ state: "unconfirmed" }]);
    expect((await video.create(reef)).handle).toMatchObject({ id: "t-2" });
    expect([sent.length, new Set(keys).size]).toEqual([2, 2]);
  });

  test("is new after an error response, and the first entry stays unconfirmed", async () => {
    const { visit, keys } = openStore((nth) =>
      nth === 1 ? createFailure(504) : Response.json({ id: `t-${nth}`, created_at: 1 }),
    );
    const { video, entries } = visit(memoryStorage());
    await video.create(reef);
    await video.create(reef);
    expect((await entries()).map(({ state }) => state).sort()).toEqual(["created", "unconfirmed"]);
    expect(new Set(keys).size).toBe(2);
  });

  test("uses a new key if the stored key is not a valid header", async () => {
    const { visit, keys, lose } = openStore();
    const storage = memoryStorage();
    lose();
    await visit(storage).video.create(reef);
    const [[, record] = []] = await storage.read("video-tasks");
    const bad = memoryStorage();
    await bad.write("video-tasks", new Map([["a\nb", { ...(record as object), key: "a\nb" }]]));
    expect((await visit(bad).video.create(reef)).handle).toMatchObject({ id: "t-2" });
    expect(new Set(keys).size).toBe(2);
  });
});
