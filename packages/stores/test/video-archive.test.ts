import { generateImages, getVideoTask } from "@sluice/core";
import { getArchivedMedia } from "@sluice/core/files";
import {
  createVideoTaskList,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
  type VideoTaskEntry,
  type VideoTaskList,
} from "@sluice/stores";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTestClient, settled, shows } from "../../core/test/support/gateway.js";

const DAY_MS = 86_400_000;
const GATEWAY = "https://cdn.gateway.test/video.mp4";
const FRAME = "https://cdn.gateway.test/last.png";
const linkTo = (id: string) => `https://gateway.test/v1/media/${id}`;

const headers = { "x-sluice-features": "archive=2592000000" };

/** Creates a storage with a video for each id, whose links end at `expiresAt`. */
async function createStorage(ids: readonly string[], expiresAt = Date.now() - 1000, more: object = {}) {
  const storage = memoryStorage();
  const records = ids.map((id) => {
    const task = {
      id,
      rawStatus: "SUCCESS",
      state: "succeeded",
      url: GATEWAY,
      urlSource: "url",
      expiresAt,
      storedUntil: Date.now() + 20 * DAY_MS,
      ...more,
    };
    const entry = { key: id, model: "beta3.0-video", submittedAt: 1, revision: 1, handle: { id } };
    return [id, { ...entry, task }] as const;
  });
  await storage.write("video-tasks", new Map(records));
  return storage;
}

/** Opens a page whose proxy stores copies of `copied`. */
function openPage(copied: readonly string[], expiresAt = () => Date.now() + DAY_MS) {
  const createCopy = (name: string) => ({
    name,
    id: name,
    url: linkTo(name),
    type: "video/mp4",
    bytes: 1,
    expiresAt: expiresAt(),
    storedUntil: Date.now() + 20 * DAY_MS,
  });
  const bodies: { tasks: string[]; urls: string[] }[] = [];
  const opened = createTestClient(
    async (request) => {
      if (new URL(request.url).pathname !== "/v1/archive") return new Response(null, { status: 500 });
      const body = (await request.json()) as (typeof bodies)[number];
      bodies.push(body);
      const names = [...body.tasks, ...body.urls].filter((name) => copied.includes(name));
      const createFrame = (name: string) => name === "framed" && { lastFrame: createCopy(`${name}-last`) };
      return Response.json({ files: names.map((name) => ({ ...createCopy(name), ...createFrame(name) })) });
    },
    { baseURL: `https://gateway-${Math.random()}.test`, retry: { limit: 0 } },
  );
  return { ...opened, bodies };
}

const findVideo = ({ task }: VideoTaskEntry) => (task?.state === "succeeded" ? task : undefined);
const listURLs = (list: VideoTaskList) => list.getSnapshot().map((entry) => findVideo(entry)?.url);

function subscribe(list: VideoTaskList): VideoTaskList {
  onTestFinished(list.subscribe(() => {}));
  return list;
}

describe("a link that has expired", () => {
  test("is renewed for each task of a list, once", async () => {
    const ids = ["a", "b", "c"];
    const { client, bodies } = openPage(ids);
    const list = subscribe(createVideoTaskList(client, { storage: await createStorage(ids) }));
    await shows(list, () => listURLs(list).length === 3 && !listURLs(list).includes(GATEWAY));
    expect(listURLs(list)).toEqual(ids.map(linkTo));
    expect(bodies.flatMap(({ tasks }) => tasks).toSorted()).toEqual(ids);
  });

  test("is renewed together with the last frame, which is removed if it was not copied", async () => {
    const { client } = openPage(["framed", "a"]);
    const storage = await createStorage(["framed", "a"], Date.now() - 1000, { lastFrameURL: FRAME });
    const tasks = (await listVideoTasks(client, { storage })).map(findVideo);
    const framed = tasks.find((task) => task?.id === "framed");
    expect([framed?.url, framed?.lastFrameURL]).toEqual([linkTo("framed"), linkTo("framed-last")]);
    const other = tasks.find((task) => task?.id === "a");
    expect([other?.url, other?.lastFrameURL]).toEqual([linkTo("a"), undefined]);
  });

  test("is renewed for code that reads all tasks, by one request to the proxy", async () => {
    const ids = ["a", "b", "c"];
    const { client, bodies, requests } = openPage(ids);
    const tasks = await listVideoTasks(client, { storage: await createStorage(ids) });
    expect(tasks.map((entry) => findVideo(entry)?.url)).toEqual(ids.map(linkTo));
    expect([bodies, requests.length]).toEqual([[{ tasks: ids, urls: [] }], 1]);
  });

  test("does not restore a video that is removed while its link is renewed", async () => {
    const { client: inner } = openPage(["a", "b"]);
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let setRequested: () => void = () => {};
    const requested = new Promise<void>((resolve) => {
      setRequested = resolve;
    });
    const { client } = createTestClient(async (request) => {
      setRequested();
      await held;
      return inner.fetch(request);
    });
    const storage = await createStorage(["a", "b"]);
    const listing = listVideoTasks(client, { storage });
    await requested;
    createVideoTaskList(client, { storage }).remove("a");
    release();
    expect((await listing).map(({ key }) => key)).toEqual(["b"]);
    await settled();
    expect([...(await storage.read("video-tasks")).keys()]).toEqual(["b"]);
  });

  test("does not change if the proxy's response is not a list of copies", async () => {
    const { client } = createTestClient(() => Response.json({ files: [{ name: "a", id: "a" }] }));
    const [entry] = await listVideoTasks(client, { storage: await createStorage(["a"]) });
    expect([entry && findVideo(entry)?.url, entry?.error]).toEqual([GATEWAY, undefined]);
    await expect(getArchivedMedia(client, { tasks: ["a"] })).rejects.toMatchObject({ name: "ResponseError" });
  });

  test("is renewed on time in a page that stays open", async () => {
    vi.useFakeTimers({ shouldAdvanceTime: true, toFake: ["Date", "setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, requests } = openPage(["a"]);
    const storage = await createStorage(["a"], Date.now() + DAY_MS / 24);
    const list = subscribe(createVideoTaskList(client, { storage }));
    await shows(list, () => listURLs(list).includes(GATEWAY));
    await vi.advanceTimersByTimeAsync(DAY_MS / 24);
    await shows(list, () => listURLs(list).includes(linkTo("a")));
    expect(requests).toHaveLength(1);
  });

  test("is renewed once if the device's clock is days ahead of the proxy's", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, requests } = openPage(["a"], () => Date.now() - 3 * DAY_MS);
    const list = subscribe(createVideoTaskList(client, { storage: await createStorage(["a"]) }));
    await shows(list, () => listURLs(list).includes(linkTo("a")));
    const [entry] = list.getSnapshot();
    expect(entry && findVideo(entry)?.expiresAt).toBe(Date.now() + DAY_MS / 24);
    expect(requests).toHaveLength(1);
  });

  test("does not change if the proxy no longer has a copy, and its entry is removed at the next visit", async () => {
    const { client, requests } = openPage([]);
    const storage = await createStorage(["a"]);
    const list = subscribe(createVideoTaskList(client, { storage }));
    const isGone = () =>
      list.getSnapshot().some((entry) => findVideo(entry) && !findVideo(entry)?.storedUntil);
    await shows(list, isGone);
    expect([listURLs(list), requests.length]).toEqual([[GATEWAY], 1]);
    expect(await listVideoTasks(openPage([]).client, { storage })).toEqual([]);
  });

  test("is requested again later if the proxy fails, and the task shows no error", async () => {
    const { client } = createTestClient(() => new Response(null, { status: 503 }), { retry: { limit: 0 } });
    const list = subscribe(createVideoTaskList(client, { storage: await createStorage(["a"]) }));
    const later = () => list.getSnapshot().some((entry) => (findVideo(entry)?.expiresAt ?? 0) > Date.now());
    await shows(list, later);
    const [entry] = list.getSnapshot();
    expect([listURLs(list), entry?.error]).toEqual([[GATEWAY], undefined]);
    expect(entry && findVideo(entry)?.storedUntil).toBeGreaterThan(Date.now());
  });

  test("is never shown if it had expired before the page saw the end", async () => {
    const data = {
      status: "SUCCESS",
      result_url: GATEWAY,
      finish_time: Math.floor(Date.now() / 1000) - 90_000,
    };
    const { client } = createTestClient(
      ({ url }) => {
        if (!url.endsWith("/v1/archive")) return Response.json({ code: "success", data }, { headers });
        const copy = { name: "a", id: "a", url: linkTo("a"), type: "video/mp4", bytes: 1 };
        const times = { expiresAt: Date.now() + DAY_MS, storedUntil: Date.now() + 20 * DAY_MS };
        return Response.json({ files: [{ ...copy, ...times }] });
      },
      { baseURL: "https://gateway-late.test" },
    );
    const store = createVideoTaskStore(client);
    const seen = new Set<string | undefined>();
    onTestFinished(store.subscribe(() => seen.add(store.getSnapshot().data?.url)));
    store.attach("a");
    await shows(store, () => store.getSnapshot().status === "success");
    expect([...seen].filter(Boolean)).toEqual([linkTo("a")]);
  });

  test("is not renewed after its copy is deleted", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { client, requests } = openPage(["a"]);
    const storage = await createStorage(["a"], Date.now() - 1000, { storedUntil: Date.now() });
    const tasks = await listVideoTasks(client, { storage });
    expect([tasks.map((entry) => findVideo(entry)?.url), requests.length]).toEqual([[GATEWAY], 0]);
  });

  test("is renewed in the store of a task", async () => {
    const { client, requests } = openPage(["a"]);
    const storage = await createStorage(["a"]);
    const list = subscribe(createVideoTaskList(client, { storage }));
    await shows(list, () => listURLs(list).includes(linkTo("a")));
    const store = createVideoTaskStore(client, { storage });
    onTestFinished(store.subscribe(() => {}));
    store.attach("a");
    expect(store.getSnapshot()).toMatchObject({ status: "success", data: { url: linkTo("a") } });
    expect(requests).toHaveLength(1);
  });
});

describe("a response through a proxy with an archive", () => {
  test("says how long a video is stored, and a day for its link if the gateway gives no time", async () => {
    const data = { status: "SUCCESS", result_url: GATEWAY, finish_time: 1_755_000_000 };
    const { client } = createTestClient(() => Response.json({ code: "success", data }, { headers }));
    expect(await getVideoTask(client, { id: "a", model: "gamma-video-2.0" })).toMatchObject({
      url: GATEWAY,
      expiresAt: 1_755_086_400_000,
      storedUntil: 1_757_592_000_000,
    });
  });

  test("says how long an image is stored, but not without an archive", async () => {
    const json = { data: [{ url: "https://cdn.gateway.test/a.png" }, { error: { message: "no" } }] };
    const request = { model: "gamma-image-5-0-260128", prompt: "a" } as const;
    const { client } = createTestClient((_, nth) => Response.json(json, nth === 1 ? { headers } : {}));
    const [image, failed] = (await generateImages(client, request)).images;
    expect(image).toMatchObject({ expiresAt: expect.any(Number), storedUntil: expect.any(Number) });
    expect(failed).not.toHaveProperty("storedUntil");
    expect((await generateImages(client, request)).images[0]).not.toHaveProperty("storedUntil");
  });
});

test.each(["null", "[]", '{"files":null}', "<!doctype html>", ""])(
  "a response of the archive without a list of files is an error that shows it: %s",
  async (body) => {
    const { client } = createTestClient(
      () => new Response(body, { headers: { "content-type": "application/json" } }),
    );
    const failure = getArchivedMedia(client, { tasks: ["a"] });
    await expect(failure).rejects.toMatchObject({ name: "ResponseError", path: "files", body });
  },
);

test("links of more than 100 files need several requests", async () => {
  const urls = Array.from({ length: 201 }, (_, at) => `https://cdn.gateway.test/${at}.png`);
  const { client, bodies } = openPage(urls);
  const copies = await getArchivedMedia(client, { urls });
  expect(bodies.map(({ urls }) => urls.length)).toEqual([100, 100, 1]);
  expect([...copies.keys()]).toEqual(urls);
  expect(copies.get(urls[7] ?? "")).toMatchObject({ type: "video/mp4", url: linkTo(urls[7] ?? "") });
});

test("a proxy without an archive returns an error that names the fix", async () => {
  const error = { message: "not found", code: "not_found" };
  const { client } = createTestClient(() =>
    Response.json({ error }, { status: 404, headers: { "x-sluice-source": "proxy" } }),
  );
  await expect(getArchivedMedia(client, { tasks: ["a"] })).rejects.toThrow("its operator sets `archive`");
});
