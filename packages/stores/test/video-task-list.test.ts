import { ConfigurationError, type RecordStorage, watchVideoTask } from "@sluice/core";
import {
  createVideoTaskList,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
  type VideoTaskStore,
} from "@sluice/stores";
import { describe, expect, test } from "vitest";
import { catchError, createTestClient, settled, stoppedClock } from "../../core/test/support/gateway.js";

const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;

/** Opens a tab whose gateway responds to each create with `receipt`, and to each query with a failed task. */
function openTab(receipt: unknown, options: Parameters<typeof createTestClient>[1] = {}) {
  const clock = stoppedClock();
  const events: unknown[] = [];
  const text = typeof receipt === "string" ? receipt : JSON.stringify(receipt);
  const { client, requests } = createTestClient(
    ({ method }) =>
      method === "POST"
        ? new Response(text)
        : Response.json({ code: "success", data: { status: "FAILURE", fail_reason: "not allowed" } }),
    {
      clock,
      baseURL: `https://gateway-${Math.random()}.test`,
      onEvent: (event) => events.push(event),
      ...options,
    },
  );
  const sent = (method: string) =>
    requests
      .filter((request) => request.method === method)
      .map(({ url }) => new URL(url).pathname.split("/").at(-1));
  return { client, clock, sent, events };
}

/** Waits until the task of a store has failed. */
function waitForFailure(video: VideoTaskStore): Promise<void> {
  return new Promise((resolve) => {
    const check = () => video.getSnapshot().task && resolve();
    video.subscribe(check);
    check();
  });
}

/** Creates a storage whose writes wait until `release` is called; `writing` resolve when the first and the second write begin. */
function createSlowStorage() {
  const inner = memoryStorage();
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tell: (() => void)[] = [];
  const writing = [0, 1].map(
    (nth) =>
      new Promise<void>((resolve) => {
        tell[nth] = resolve;
      }),
  );
  const storage: RecordStorage = {
    ...inner,
    write(...given) {
      tell.shift()?.();
      return held.then(() => inner.write(...given));
    },
  };
  return { storage, inner, writing, release };
}

describe("the id of a task that is billed", () => {
  test.each<[string, unknown]>([
    ["a number", { id: 7 }],
    ["a number of many digits", '{"id": 12345678901234567890, "status": "queued"}'],
    ["in task_id", { id: "", task_id: "7" }],
    ["beside an id that is none", { id: {}, task_id: 7 }],
    ["under data", { code: "success", message: "ok", data: { task_id: "7" } }],
    ["beside a time as text", { id: "7", created_at: "1700000000" }],
    ["beside a time as a date", { id: "7", created_at: "2026-11-21T23:00:00Z" }],
    ["beside odd fields", { id: "7", created_at: {}, model: [], status: 5, progress: null, object: true }],
  ])("is stored and polled: %s", async (_, receipt) => {
    const id = JSON.stringify(receipt).includes("123") ? "12345678901234567890" : "7";
    const storage = memoryStorage();
    const { client, sent } = openTab(receipt);
    const video = createVideoTaskStore(client, { storage });
    video.subscribe(() => {});
    expect(await video.create(request)).toMatchObject({ handle: { id, model: request.model } });
    await waitForFailure(video);
    expect(sent("GET")).toEqual([id]);
    expect(await listVideoTasks(openTab({}).client, { storage })).toMatchObject([
      { state: "created", handle: { id } },
    ]);
  });

  test("is stored if other fields of the response only cause a warning", async () => {
    const { client, events } = openTab({ id: "7", created_at: "soon", model: 5 });
    await createVideoTaskStore(client).create(request);
    const warned = events.filter((event) => (event as { type: string }).type === "warning");
    expect(warned).toMatchObject([{ issue: { path: "created_at" } }, { issue: { path: "model" } }]);
  });
});

describe("an entry of a video", () => {
  test.each<[string, Parameters<typeof openTab>[1]]>([
    [
      "has no headers",
      {
        headers: () => {
          throw new ConfigurationError("session expired");
        },
      },
    ],
    ["has foreign headers that fail", { headers: () => Promise.reject(new Error("session expired")) }],
  ])("is not shown as billed if the request was never sent: %s", async (_, options) => {
    const { client, sent } = openTab({ id: "7" }, options);
    const state = await createVideoTaskStore(client).create(request);
    expect(state).toMatchObject({ status: "error" });
    expect([sent("POST"), await listVideoTasks(client, {})]).toEqual([[], []]);
  });

  test("is not sent after a reset while it is written", async () => {
    const { client, sent } = openTab({ id: "7" });
    const { storage, inner, writing, release } = createSlowStorage();
    const video = createVideoTaskStore(client, { storage });
    const submitted = video.create(request);
    await writing[0];
    video.reset();
    release();
    await submitted;
    expect(sent("POST")).toEqual([]);
    expect([await inner.read("video-tasks"), video.getSnapshot().status]).toEqual([new Map(), "idle"]);
  });

  test("is not sent after a reset while its headers are created", async () => {
    let sign: (headers: HeadersInit) => void = () => {};
    const signed = new Promise<HeadersInit>((resolve) => {
      sign = resolve;
    });
    const { client, sent } = openTab({ id: "7" }, { headers: () => signed });
    const video = createVideoTaskStore(client);
    const submitted = video.create(request);
    await settled();
    video.reset();
    sign({});
    await submitted;
    expect([sent("POST"), await listVideoTasks(client, {})]).toEqual([[], []]);
  });

  test("is sent after 3 seconds if the storage stalls, and written when it recovers", async () => {
    const { client, clock, sent, events } = openTab({ id: "7" });
    const { storage, inner, writing, release } = createSlowStorage();
    const submitted = createVideoTaskStore(client, { storage }).create(request);
    await writing[0];
    await clock.advance(2999);
    expect(sent("POST")).toEqual([]);
    await clock.advance(1);
    expect(await submitted).toMatchObject({ handle: { id: "7" } });
    expect(events).toContainEqual({
      type: "storage-error",
      error: expect.objectContaining({ name: "TimeoutError" }),
    });
    release();
    await settled();
    expect([...(await inner.read("video-tasks")).values()]).toMatchObject([{ handle: { id: "7" } }]);
  });
});

test("a page that was frozen while it read its videos shows them when it resumes", async () => {
  const { client, clock } = openTab({ id: "7" });
  const { client: earlier } = openTab({ id: "7" });
  const inner = memoryStorage();
  await createVideoTaskStore(earlier, { storage: inner }).create(request);
  const records = await inner.read("video-tasks");
  let release: (result: typeof records) => void = () => {};
  const reading = new Promise<typeof records>((resolve) => {
    release = resolve;
  });
  const list = createVideoTaskList(client, { storage: { ...inner, read: () => reading } });
  list.subscribe(() => {});
  await settled();
  // the timeout and the result of the storage arrive in one task
  const waiting = clock.advanceToNext(3000);
  release(records);
  await waiting;
  await settled();
  expect(list.getSnapshot()).toMatchObject([{ handle: { id: "7" } }]);
});

test("the error of a failed video contains its handle, in a store and from watchVideoTask", async () => {
  const { client } = openTab({ id: "7" });
  const video = createVideoTaskStore(client);
  video.subscribe(() => {});
  const { handle } = await video.create(request);
  await waitForFailure(video);
  const { error } = video.getSnapshot();
  expect(error).toMatchObject({ name: "TaskError", reason: "failed", handle });
  expect(await catchError(watchVideoTask(client, handle ?? "").result())).toMatchObject({ handle });
});

test("an unknown model is submitted, listed and watched", async () => {
  const { client, sent } = openTab({ id: "7" });
  const video = createVideoTaskStore(client);
  video.subscribe(() => {});
  const tomorrow = { model: "beta4.0-video", input: { prompt: "A reef at dawn" } };
  expect(await video.create(tomorrow, { checks: false })).toMatchObject({
    handle: { id: "7", model: "beta4.0-video" },
  });
  await waitForFailure(video);
  expect([sent("GET"), await listVideoTasks(client, {})]).toMatchObject([
    ["7"],
    [{ model: "beta4.0-video" }],
  ]);
});
