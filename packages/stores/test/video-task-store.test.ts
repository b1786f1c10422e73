import {
  type ClientOptions,
  type MediaUploader,
  parseVideoTask,
  type RecordStorage,
  type Store,
} from "@sluice/core";
import {
  createVideoTaskList,
  createVideoTaskStore,
  listVideoTasks,
  memoryStorage,
  type Presence,
  type VideoTaskStoreOptions,
} from "@sluice/stores";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestClient, settled, shows, stoppedClock } from "../../core/test/support/gateway.js";
import type { Absence } from "../src/tasks/page-presence.js";

const url = "https://cdn.test/v.mp4?sig=1";
const request = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } } as const;
const receipt = (id = "t-1") =>
  Response.json({
    id,
    task_id: id,
    object: "video",
    model: request.model,
    status: "queued",
    progress: 0,
    created_at: 1_755_000_000,
  });
const task = (data: object) =>
  Response.json({ code: "success", message: "", data: { task_id: "t-1", ...data } });
const running = (progress: string) => () => task({ status: "IN_PROGRESS", progress });
const success = () => task({ status: "SUCCESS", result_url: url });
const failure = () => task({ status: "FAILURE", fail_reason: "not allowed" });
const createRefusal = (status: number) => () =>
  Response.json({ error: { message: `refused with ${status}` } }, { status });

/** Creates the presence of a page, which the test controls. */
function createPresence() {
  let absence: Absence | undefined;
  const listeners = new Set<() => void>();
  const presence: Presence = {
    get absence() {
      return absence;
    },
    subscribe(listener) {
      // each subscription counts, even with the same listener
      const own = () => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
  const becomes = (next: Absence | undefined) => {
    absence = next;
    for (const listener of [...listeners]) listener();
  };
  return { presence, becomes, listening: () => listeners.size };
}

/** Opens a page whose queries get `steps`, the last one repeatedly, and whose creates get `create`. */
function openPage(
  steps: readonly (() => Response | Promise<Response>)[],
  {
    create = () => receipt(),
    baseURL,
    gateway,
    check,
    ...options
  }: VideoTaskStoreOptions &
    Pick<Partial<ClientOptions>, "baseURL" | "gateway"> &
    Pick<MediaUploader, "check"> & {
      create?: () => Response | Promise<Response>;
    } = {},
) {
  const clock = stoppedClock();
  const { presence, becomes, listening } = createPresence();
  const queries: string[] = [];
  const creates: Request[] = [];
  const clientOptions: Partial<ClientOptions> = {
    clock,
    random: () => 0.5,
    // each test has its own gateway, because pages share state by its address
    baseURL: baseURL ?? `https://gateway-${Math.random()}.test`,
    ...(gateway && { gateway }),
    uploads: check && { upload: () => Promise.reject(new Error("no file is expected")), check },
  };
  const { client } = createTestClient((sent) => {
    if (sent.method === "POST") {
      creates.push(sent);
      return create();
    }
    queries.push(new URL(sent.url).pathname);
    return (steps[Math.min(queries.length, steps.length) - 1] as () => Response)();
  }, clientOptions);
  const open = (more: VideoTaskStoreOptions = {}) =>
    createVideoTaskStore(client, { presence, ...options, ...more });
  const watch = <State>(store: Store<State>) => {
    const unsubscribe = store.subscribe(() => {});
    onTestFinished(unsubscribe);
    return unsubscribe;
  };
  return { client, clock, queries, creates, becomes, listening, open, watch, presence };
}

/** Holds the response of a create; `sent` resolves when the create is sent. */
function holdCreate() {
  let tell: () => void = () => {};
  let arrive: (response: Response) => void = () => {};
  const sent = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const response = new Promise<Response>((resolve) => {
    arrive = resolve;
  });
  const create = () => {
    tell();
    return response;
  };
  return { create, sent, arrive };
}

const isResting = ({ nextPollAt }: { nextPollAt: number | undefined }) => nextPollAt !== undefined;

test("sixty video tasks in one page start in turn, and are polled ten times in a second", async () => {
  let tell: () => void = () => {};
  const all = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const response = () => {
    if (queries.length === 200) tell();
    return running("10%")();
  };
  const { clock, queries, open, watch } = openPage([response], { intervalMs: 1000 });
  const stores = Array.from({ length: 60 }, (_, nth) => {
    const store = open();
    watch(store);
    store.attach(`t-${nth}`);
    return store;
  });
  await clock.advanceUntil(Promise.all(stores.slice(0, 20).map((store) => shows(store, isResting))), 0);
  expect(queries).toHaveLength(20);

  await clock.advanceUntil(Promise.all(stores.map((store) => shows(store, isResting))), 100);
  expect(clock.now()).toBeGreaterThanOrEqual(4000);
  expect(new Set(queries).size).toBe(60);

  await clock.advanceUntil(all, 100);
  expect(clock.now()).toBeGreaterThanOrEqual(14_000);
});

test("a task that loses its subscriber before its turn is polled by another tab, while the others still wait", async () => {
  const baseURL = `https://gateway-${Math.random()}.test`;
  const [here, there] = [openPage([running("10%")], { baseURL }), openPage([running("20%")], { baseURL })];
  const opened = Array.from({ length: 60 }, (_, nth) => {
    const store = here.open();
    const leave = here.watch(store);
    store.attach(`left-${nth}`);
    return { store, leave };
  });
  const early = opened.slice(0, 20).map(({ store }) => shows(store, isResting));
  await here.clock.advanceUntil(Promise.all(early), 0);
  opened.at(-1)?.leave();
  await here.clock.advance(1000); // a task is watched for a second longer

  const store = there.open();
  there.watch(store);
  store.attach("left-59");
  await there.clock.advanceUntil(
    shows(store, ({ progress }) => progress === 0.2),
    0,
  );
  expect(there.queries).toEqual(["/v1/video/generations/left-59"]);
});

describe("a video task", () => {
  test("is created once, polled every 15 seconds, and calls onSuccess once", async () => {
    const reported: string[] = [];
    const { open, watch, clock, queries, creates, becomes } = openPage([
      running("10%"),
      running("60%"),
      success,
    ]);
    const video = open({ onSuccess: (done) => reported.push(done.url) });
    expect(video.getSnapshot()).toMatchObject({ status: "idle", phase: undefined, fetchStatus: "idle" });
    watch(video);
    const submitted = video.create(request);
    expect(video.getSnapshot()).toMatchObject({ status: "pending", phase: "creating" });
    expect(await submitted).toMatchObject({ status: "pending", phase: "processing", handle: { id: "t-1" } });
    await shows(video, ({ progress }) => progress === 0.1);
    await shows(video, isResting);
    await clock.advance(14_999);
    expect(queries).toHaveLength(1);
    await clock.advance(1);
    await shows(video, ({ progress }) => progress === 0.6);
    await shows(video, isResting);
    await clock.advance(15_000);
    await shows(video, ({ status }) => status === "success");
    expect(video.getSnapshot()).toMatchObject({
      data: { url },
      progress: 1,
      fetchStatus: "idle",
      nextPollAt: undefined,
    });
    await settled();
    expect(reported).toEqual([url]);
    // the task is final: nothing restarts the polling
    becomes("hidden");
    becomes(undefined);
    await settled();
    expect(video.getSnapshot().fetchStatus).toBe("idle");
    expect([creates.length, queries.length]).toEqual([1, 3]);
  });

  test("is created once for a double click, and for clicks while it is in flight", async () => {
    const { open, watch, creates } = openPage([running("10%")]);
    const video = open();
    watch(video);
    const clicks = [video.create(request), video.create(request)];
    expect(clicks[0]).toBe(clicks[1]);
    await Promise.all(clicks);
    expect(await video.create(request)).toMatchObject({ status: "pending", handle: { id: "t-1" } });
    expect(creates).toHaveLength(1);
  });

  test("is rejected with whenBusy reject while another is in flight, and the store does not change", async () => {
    const { open, watch, creates } = openPage([running("10%")]);
    const video = open({ whenBusy: "reject" });
    watch(video);
    const first = video.create(request);
    const before = video.getSnapshot();
    expect(await video.create(request)).toMatchObject({
      status: "error",
      error: { name: "ConfigurationError", message: expect.stringContaining("nothing was sent") },
    });
    expect(video.getSnapshot()).toBe(before);
    expect(await first).toMatchObject({ status: "pending", handle: { id: "t-1" }, error: undefined });
    expect(await video.create(request)).toMatchObject({ status: "error", handle: { id: "t-1" } });
    expect(video.getSnapshot()).toMatchObject({ status: "pending", error: undefined });
    expect(creates).toHaveLength(1);
  });

  test("is rejected with the field of a broken rule, before it is sent or stored", async () => {
    const storage = memoryStorage();
    const errors: Error[] = [];
    const { open, creates, client } = openPage([success], { storage });
    const video = open({ storage, onError: (error) => errors.push(error) });
    const state = await video.create({ ...request, parameters: { duration: 99 } } as never);
    expect(state).toMatchObject({
      status: "error",
      error: { name: "ValidationError", issues: [{ path: "parameters.duration" }] },
    });
    await settled();
    expect(errors).toEqual([state.error]);
    expect(creates).toHaveLength(0);
    expect(await listVideoTasks(client, { storage })).toEqual([]);
  });

  test("warns once about fields that the gateway may ignore", async () => {
    const rules: string[] = [];
    const { client } = createTestClient(() => receipt(), {
      onEvent: (event) => event.type === "warning" && rules.push(event.issue.rule),
    });
    await createVideoTaskStore(client).create({ model: request.model, input: { prompt: "Image 1 at dawn" } });
    expect(rules).toHaveLength(1);
  });

  test("is shown as unconfirmed if it may exist, stays in the list, and is never sent again", async () => {
    const storage = memoryStorage();
    const { open, client, clock, creates } = openPage([success], {
      storage,
      create: () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } })),
    });
    const video = open({ storage });
    expect(await video.create(request, { label: "Reef" })).toMatchObject({
      status: "error",
      error: { name: "ConnectionError", billing: "maybe" },
    });
    await clock.advance(600_000);
    expect(creates).toHaveLength(1);
    expect(await listVideoTasks(client, { storage })).toMatchObject([
      { state: "unconfirmed", label: "Reef", error: { billing: "maybe" } },
    ]);
    // also after a reload
    expect(await listVideoTasks(openPage([success]).client, { storage })).toMatchObject([
      { state: "unconfirmed", error: { name: "ConnectionError", billing: "maybe" } },
    ]);
  });

  test("may exist if the response can't be read or does not arrive in time", async () => {
    const unread = openPage([success], { create: () => Response.json({}) });
    expect(await unread.open().create(request)).toMatchObject({ error: { name: "ResponseError" } });
    expect(await listVideoTasks(unread.client, {})).toMatchObject([{ state: "unconfirmed" }]);
  });

  test("leaves no entry after a rejected request", async () => {
    const storage = memoryStorage();
    const { open, client } = openPage([success], { storage, create: createRefusal(400) });
    expect(await open({ storage }).create(request)).toMatchObject({
      status: "error",
      error: { status: 400 },
    });
    expect(await listVideoTasks(client, { storage })).toEqual([]);
  });

  test("shows the reason of its failure", async () => {
    const { open, watch } = openPage([failure]);
    const video = open();
    watch(video);
    await video.create(request);
    await shows(video, ({ status }) => status === "error");
    expect(video.getSnapshot()).toMatchObject({
      error: {
        name: "TaskError",
        reason: "failed",
        message: expect.stringContaining("not allowed"),
        handle: { id: "t-1" },
      },
      task: { state: "failed" },
      data: undefined,
    });
    const { error } = video.getSnapshot();
    video.detach();
    expect(video.getSnapshot().error).toBe(error);
  });

  test("continues after failed polls, and shows the failure of the last poll", async () => {
    const { open, watch, clock } = openPage([createRefusal(500), createRefusal(429), success]);
    const video = open();
    watch(video);
    await video.create(request);
    await shows(video, isResting);
    expect(video.getSnapshot()).toMatchObject({
      status: "pending",
      failureReason: { status: 500 },
      error: undefined,
    });
    await clock.advance(15_000);
    await shows(
      video,
      ({ failureReason }) => (failureReason as { status?: number } | undefined)?.status === 429,
    );
    await shows(video, isResting);
    await clock.advance(30_000);
    await shows(video, ({ status }) => status === "success");
    expect(video.getSnapshot().failureReason).toBeUndefined();
  });

  test("ends as an error if polling is not allowed, and refetch polls again", async () => {
    const { open, watch, becomes, queries } = openPage([createRefusal(401), success]);
    const video = open();
    watch(video);
    video.attach("t-1");
    await shows(video, ({ status }) => status === "error");
    expect(video.getSnapshot()).toMatchObject({ error: { status: 401 }, fetchStatus: "idle" });
    // showing the page again does not poll again
    becomes("hidden");
    becomes(undefined);
    await settled();
    expect(queries).toHaveLength(1);
    video.detach();
    expect(video.getSnapshot()).toMatchObject({ status: "error", error: { status: 401 } });
    video.refetch();
    await shows(video, ({ status }) => status === "success");
    expect(queries).toHaveLength(2);
  });

  test("shows only its error after it ended by failures", async () => {
    const { open, watch, clock } = openPage([createRefusal(500), createRefusal(401)]);
    const video = open();
    watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    await clock.advance(15_000);
    await shows(video, ({ status }) => status === "error");
    expect(video.getSnapshot()).toMatchObject({ error: { status: 401 }, failureReason: undefined });
  });

  test("is polled at once by refetch, its progress never goes back, and polling ends with it", async () => {
    const { open, watch, clock, queries } = openPage([running("60%"), running("40%")]);
    const video = open();
    video.attach("t-1");
    video.refetch();
    await settled();
    // no subscriber
    expect(queries).toHaveLength(0);
    const leave = watch(video);
    await shows(video, isResting);
    video.refetch();
    await shows(video, ({ fetchStatus }) => fetchStatus === "fetching");
    await shows(video, isResting);
    expect([queries.length, video.getSnapshot().progress]).toEqual([2, 0.6]);
    leave();
    await clock.advance(60_000);
    expect([queries.length, clock.sleeping()]).toEqual([2, 0]);
  });

  test("is not polled if it is attached after the last subscriber has unsubscribed", async () => {
    const { open, watch, queries } = openPage([running("10%")]);
    const video = open();
    watch(video)();
    video.attach("t-1");
    await settled();
    expect(queries).toHaveLength(0);
  });

  test("is polled again when a subscriber comes back", async () => {
    const { open, watch, clock, queries } = openPage([running("10%"), running("20%")]);
    const video = open();
    const leave = watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    leave();
    await clock.advance(1000);
    watch(video);
    await shows(video, ({ progress }) => progress === 0.2);
    expect(queries).toHaveLength(2);
  });

  test("is not polled after its end, even when the page is hidden and shown again", async () => {
    const { open, watch, becomes, clock, queries } = openPage([running("10%"), success]);
    const video = open();
    watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    becomes(undefined);
    await clock.advance(15_000);
    await shows(video, ({ status }) => status === "success");
    await clock.advance(60_000);
    expect(queries).toHaveLength(2);
  });

  test("is not polled while the page is hidden or offline, shows this, and is polled at once after that", async () => {
    const { open, watch, becomes, clock, queries } = openPage([
      running("10%"),
      running("20%"),
      running("30%"),
      running("40%"),
    ]);
    const video = open();
    watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    for (const [absence, progress] of [
      ["hidden", 0.2],
      ["offline", 0.3],
    ] as const) {
      const before = queries.length;
      becomes(absence);
      const reported: unknown[] = [];
      const stop = video.subscribe(() => reported.push(video.getSnapshot()));
      becomes(absence);
      expect(reported).toEqual([]);
      stop();
      expect(video.getSnapshot()).toMatchObject({
        fetchStatus: "paused",
        pauseReason: absence,
        nextPollAt: undefined,
      });
      await clock.advance(600_000);
      expect(queries).toHaveLength(before);
      becomes(undefined);
      await shows(video, (state) => state.progress === progress);
      expect(queries).toHaveLength(before + 1);
      await shows(video, isResting);
    }
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "idle", pauseReason: undefined });
    // an equal state sends no request
    becomes(undefined);
    await settled();
    expect(queries).toHaveLength(3);
  });

  test("shows a pause if it is first shown on a hidden page, even after detach and refetch", async () => {
    const { open, watch, becomes, queries } = openPage([running("10%")]);
    const video = open();
    becomes("hidden");
    watch(video);
    video.attach("t-1");
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
    video.detach();
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "idle", pauseReason: undefined });
    video.refetch();
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
    expect(queries).toHaveLength(0);
  });

  test("is no longer paused when another tab has seen its end", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const [shown, hidden] = [openPage([success], { baseURL }), openPage([running("10%")], { baseURL })];
    const [here, there] = [shown.open(), hidden.open()];
    hidden.becomes("hidden");
    hidden.watch(there);
    there.attach("t-1");
    expect(there.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
    shown.watch(here);
    here.attach("t-1");
    await shows(there, ({ status }) => status === "success");
    await settled();
    expect(there.getSnapshot()).toMatchObject({ fetchStatus: "idle", pauseReason: undefined });
    expect(hidden.queries).toEqual([]);
  });

  test("is paused if the page is hidden during a response, and polled again after that", async () => {
    let hide = () => {};
    const { open, watch, becomes, queries } = openPage([running("10%"), running("20%")], {
      gateway: {
        parseVideoTask(json, handle) {
          hide();
          return parseVideoTask(json, handle);
        },
      },
    });
    const video = open();
    watch(video);
    hide = () => becomes("hidden");
    video.attach("t-1");
    await shows(video, ({ fetchStatus }) => fetchStatus === "paused");
    await settled();
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
    hide = () => {};
    becomes(undefined);
    await shows(video, ({ progress }) => progress === 0.2);
    expect(queries).toHaveLength(2);
  });

  test("is polled in the background with pollInBackground, but not offline", async () => {
    const { open, watch, becomes, clock, queries } = openPage([running("10%"), running("20%")]);
    const video = open({ pollInBackground: true });
    watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    becomes("hidden");
    await clock.advance(15_000);
    await shows(video, ({ progress }) => progress === 0.2);
    becomes("offline");
    expect(video.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "offline" });
    expect(queries).toHaveLength(2);
  });

  test("calls onCreate with its handle, then onSuccess or onError with the state", async () => {
    const reported: unknown[] = [];
    const { open, watch } = openPage([success]);
    const video = open({
      onCreate: ({ id }) => reported.push(id),
      onSuccess: (task, state) => reported.push(state.status, state.data === task),
      onError: (error, state) => reported.push(state.status, state.error === error),
    });
    watch(video);
    await video.create({ model: "beta3.0-video", input: {} } as never);
    await video.create(request);
    await shows(video, ({ status }) => status === "success");
    await settled();
    expect(reported).toEqual(["error", true, "t-1", "success", true]);
  });

  test("is polled at the interval of intervalMs", async () => {
    const { open, watch, clock, queries } = openPage([running("10%"), running("90%"), success]);
    const video = open({ intervalMs: (seen) => ((seen?.progress ?? 0) > 0.5 ? 2000 : 60_000) });
    watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    await clock.advance(59_999);
    expect(queries).toHaveLength(1);
    await clock.advance(1);
    await shows(video, ({ progress }) => progress === 0.9);
    await shows(video, isResting);
    await clock.advance(2000);
    await shows(video, ({ status }) => status === "success");
  });

  test("has one poll loop for all stores, and one store calls back", async () => {
    const reported: string[] = [];
    const { open, watch, queries, clock } = openPage([running("10%"), success]);
    // the first error has no subscriber
    const stores = [open(), ...["a", "b", "c"].map((name) => open({ onSuccess: () => reported.push(name) }))];
    for (const store of stores) {
      watch(store);
      store.attach("t-1");
    }
    await Promise.all(stores.map((store) => shows(store, isResting)));
    expect(queries).toHaveLength(1);
    await clock.advance(15_000);
    await Promise.all(stores.map((store) => shows(store, ({ status }) => status === "success")));
    await settled();
    expect(queries).toHaveLength(2);
    expect(reported).toEqual(["a"]);
  });

  test("is polled for one more second after the last subscriber, and not twice after a remount", async () => {
    const { open, watch, clock, queries, listening } = openPage([running("10%"), running("20%")]);
    const video = open();
    const leave = watch(video);
    video.attach("t-1");
    await shows(video, isResting);
    leave();
    await clock.advance(500);
    const again = watch(video);
    await settled();
    expect(queries).toHaveLength(1);
    await clock.advance(14_500);
    await shows(video, ({ progress }) => progress === 0.2);
    again();
    await clock.advance(60_000);
    expect(queries).toHaveLength(2);
    expect([clock.sleeping(), listening()]).toEqual([0, 0]);
  });

  test("continues at the gateway after detach, which keeps the state, and after reset, which forgets it", async () => {
    const { open, watch, clock, queries } = openPage([running("10%")]);
    const video = open();
    const leave = watch(video);
    await video.create(request);
    await shows(video, isResting);
    video.detach();
    await clock.advance(60_000);
    expect(queries).toHaveLength(1);
    expect(video.getSnapshot()).toMatchObject({ status: "pending", progress: 0.1, fetchStatus: "idle" });
    leave();
    watch(video);
    await settled();
    expect(queries).toHaveLength(1);
    video.reset();
    expect(video.getSnapshot()).toMatchObject({ status: "idle", handle: undefined, task: undefined });
  });

  test("calls onError in one store each time polling is not allowed", async () => {
    const reported: string[] = [];
    const { open, watch } = openPage([createRefusal(401), createRefusal(403), failure]);
    const stores = [
      open({ onSuccess: () => reported.push("none") }),
      ...["a", "b"].map((name) => open({ onError: (error) => reported.push(`${name} ${error.name}`) })),
    ];
    for (const store of stores) {
      watch(store);
      store.attach("t-1");
    }
    for (const ends of [1, 2, 3]) {
      await Promise.all(stores.map((store) => shows(store, ({ status }) => status === "error")));
      await settled();
      expect(reported).toHaveLength(ends);
      stores[1]?.refetch();
    }
    expect(reported).toEqual(["a APIError", "a APIError", "a TaskError"]);
  });

  test("is forgotten by a reset during its creation, but stays in the list", async () => {
    const { create, sent, arrive } = holdCreate();
    const { open, client } = openPage([success], { create });
    const video = open();
    const submitted = video.create(request);
    await sent;
    video.reset();
    arrive(receipt());
    expect(await submitted).toMatchObject({ status: "idle" });
    expect(await listVideoTasks(client, {})).toMatchObject([{ state: "created", handle: { id: "t-1" } }]);
  });
});

describe("the check of the client's uploader", () => {
  const issue = { path: "input.media.0", message: "must be larger", rule: "media.first-frame.side" };

  /** Creates a check that the test ends. */
  function createHeldCheck() {
    const signals: AbortSignal[] = [];
    const ends: ((issues: readonly (typeof issue)[]) => void)[] = [];
    const check = (_: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise<readonly (typeof issue)[]>((resolve) => ends.push(resolve));
    };
    return { check, signals, end: (issues: readonly (typeof issue)[] = []) => ends.shift()?.(issues) };
  }

  test("runs once before the entry is stored or sent, even for a double click", async () => {
    const { check, signals, end } = createHeldCheck();
    const { open, creates, client } = openPage([success], { check });
    const video = open();
    const clicks = [video.create(request), video.create(request)];
    await settled();
    expect(video.getSnapshot()).toMatchObject({ status: "pending", phase: "creating", handle: undefined });
    expect([await listVideoTasks(client, {}), creates.length, signals.length]).toEqual([[], 0, 1]);
    end();
    expect(clicks[0]).toBe(clicks[1]);
    expect(await clicks[0]).toMatchObject({ status: "pending", phase: "processing", handle: { id: "t-1" } });
    expect(creates).toHaveLength(1);
  });

  test("rejects with its issues or its error, and onError is called once", async () => {
    const errors: unknown[] = [];
    const onError = ({ name }: Error) => errors.push(name);
    let check: NonNullable<MediaUploader["check"]> = () => [issue];
    const { open, creates, client } = openPage([success], { onError, check: (...given) => check(...given) });
    expect(await open().create(request)).toMatchObject({
      status: "error",
      phase: undefined,
      error: { name: "ValidationError", issues: [issue] },
    });
    check = () => {
      throw new RangeError("too deep");
    };
    expect(await open().create(request)).toMatchObject({ status: "error", error: { message: "too deep" } });
    check = () => Promise.reject(new RangeError("too late"));
    expect(await open().create(request)).toMatchObject({ error: { message: "too late" } });
    await settled();
    expect(errors).toEqual(["ValidationError", "RangeError", "RangeError"]);
    expect([await listVideoTasks(client, {}), creates.length]).toEqual([[], 0]);
  });

  test("does not run for a request that breaks another rule, or with checks: false", async () => {
    const seen: unknown[] = [];
    const check = (checked: unknown) => {
      seen.push(checked);
      return [issue];
    };
    const { open, creates } = openPage([success], { check });
    const video = open();
    expect(await video.create({ ...request, parameters: { duration: 99 } } as never)).toMatchObject({
      error: { issues: [{ path: "parameters.duration" }] },
    });
    expect(await video.create(request, { checks: false })).toMatchObject({ handle: { id: "t-1" } });
    video.reset();
    await video.create(request);
    expect([seen, creates.length]).toEqual([[request], 1]);
  });

  test("is stopped by reset: nothing is sent or reported, and the next request is independent", async () => {
    const reported: unknown[] = [];
    const { check, signals, end } = createHeldCheck();
    const { open, creates, client } = openPage([success], {
      check,
      onError: (error) => reported.push(error),
    });
    const video = open();
    const first = video.create(request);
    await settled();
    video.reset();
    expect(signals[0]?.aborted).toBe(true);
    expect(video.getSnapshot()).toMatchObject({ status: "idle", phase: undefined });
    const second = video.create(request);
    expect(second).not.toBe(first);
    end();
    expect(await first).toMatchObject({ status: "pending", phase: "creating" });
    expect([await listVideoTasks(client, {}), creates.length]).toEqual([[], 0]);
    end();
    expect(await second).toMatchObject({ handle: { id: "t-1" } });
    await settled();
    expect([creates.length, reported]).toEqual([1, []]);
  });
});

describe("stored video tasks", () => {
  test("are restored after a reload, including finished tasks, and continue by their handle", async () => {
    const storage = memoryStorage();
    const first = openPage([running("40%")], { storage });
    const video = first.open({ storage });
    first.watch(video);
    await video.create(request, { label: "Reef" });
    await shows(video, isResting);
    await settled();

    const second = openPage([success], { storage });
    const list = createVideoTaskList(second.client, { storage, presence: second.presence });
    second.watch(list);
    await shows(list, (tasks) => tasks[0]?.task?.state === "succeeded");
    expect(list.getSnapshot()).toMatchObject([
      { label: "Reef", model: request.model, state: "created", task: { url } },
    ]);
    await settled();

    expect(JSON.stringify([...(await storage.read("video-tasks")).values()])).not.toContain('"raw"');
    const third = openPage([createRefusal(500)], { storage });
    expect(await listVideoTasks(third.client, { storage })).toMatchObject([
      { task: { state: "succeeded", url } },
    ]);
    const reported: string[] = [];
    const again = third.open({ storage, onSuccess: (done) => reported.push(done.url) });
    third.watch(again);
    again.attach("t-1");
    expect(again.getSnapshot()).toMatchObject({
      status: "success",
      data: { url },
      handle: { model: request.model, createdAt: expect.any(Number) },
    });
    await settled();
    expect(third.queries).toHaveLength(0);
    // this was reported before the reload
    expect(reported).toEqual([]);
    createVideoTaskList(third.client, { storage }).remove(list.getSnapshot()[0]?.key ?? "");
    await settled();
    expect(await listVideoTasks(openPage([success]).client, { storage })).toEqual([]);
  });

  test("are polled while the list has subscribers", async () => {
    const storage = memoryStorage();
    const { client, presence, open, watch, clock, queries } = openPage([running("10%")], { storage });
    await open({ storage }).create(request);
    const list = createVideoTaskList(client, { storage, presence, intervalMs: 2000 });
    const leave = watch(list);
    await shows(list, (tasks) => tasks[0]?.task !== undefined);
    await settled();
    await clock.advance(2000);
    expect(queries).toHaveLength(2);
    leave();
    await clock.advance(60_000);
    expect(queries).toHaveLength(2);
  });

  test("are not polled after they were removed", async () => {
    const { client, presence, open, watch, clock, queries } = openPage([running("10%")]);
    await open().create(request);
    const list = createVideoTaskList(client, { presence });
    watch(list);
    await shows(list, (tasks) => tasks[0]?.task !== undefined);
    list.remove(list.getSnapshot()[0]?.key ?? "");
    await clock.advance(60_000);
    expect([list.getSnapshot(), queries.length]).toEqual([[], 1]);
  });

  test("are unconfirmed if the page was closed during their creation", async () => {
    const storage = memoryStorage();
    await storage.write(
      "video-tasks",
      new Map([["k", { key: "k", model: request.model, submittedAt: 1, state: "submitting", revision: 1 }]]),
    );
    const { client } = openPage([success], { storage });
    expect(await listVideoTasks(client, { storage })).toMatchObject([
      { state: "unconfirmed", error: { billing: "maybe", message: expect.stringContaining("may exist") } },
    ]);
  });

  test("are stored before the create request is sent", async () => {
    const order: string[] = [];
    const storage = memoryStorage();
    const noting: RecordStorage = {
      ...storage,
      async write(collection, changes) {
        await settled();
        await storage.write(collection, changes);
        order.push(`write ${[...changes.values()].map((record) => (record as { state: string }).state)}`);
      },
    };
    const { open } = openPage([success], {
      storage: noting,
      create: () => {
        order.push("create");
        return receipt();
      },
    });
    await open({ storage: noting }).create(request);
    expect(order).toEqual(["write submitting", "create", "write created"]);
  });

  test("continue without a failing storage, which is reported", async () => {
    const failures: unknown[] = [];
    const fails = () => Promise.reject(new Error("the disk is full"));
    const broken: RecordStorage = { ...memoryStorage(), read: fails, write: fails };
    const { client } = createTestClient(() => receipt(), {
      onEvent: (event) => event.type === "storage-error" && failures.push(event.error),
    });
    const video = createVideoTaskStore(client, { storage: broken });
    expect(await video.create(request)).toMatchObject({ handle: { id: "t-1" } });
    expect(await listVideoTasks(client, { storage: broken })).toMatchObject([{ state: "created" }]);
    // one event for all writes, and one for the read
    expect(failures).toHaveLength(2);
    await listVideoTasks(client, { storage: broken });
    expect(failures).toHaveLength(2);
  });

  test("show the reason why they are not polled until a refetch, and are written when they change", async () => {
    const storage = memoryStorage();
    let writes = 0;
    const counting: RecordStorage = {
      ...storage,
      write: (collection, changes) => {
        writes += 1;
        return storage.write(collection, changes);
      },
    };
    const { client, presence, open, watch, clock } = openPage(
      [running("10%"), running("10%"), createRefusal(401), running("10%")],
      { storage: counting },
    );
    const video = open({ storage: counting });
    const list = createVideoTaskList(client, { storage: counting, presence });
    watch(list);
    watch(video);
    await video.create(request);
    await shows(video, isResting);
    await settled();
    expect(writes).toBe(3);
    await clock.advance(15_000);
    await shows(video, isResting);
    expect(writes).toBe(3);
    await clock.advance(15_000);
    await shows(video, ({ status }) => status === "error");
    expect(list.getSnapshot()).toMatchObject([{ state: "created", error: { status: 401 } }]);
    video.refetch();
    await shows(video, isResting);
    expect(list.getSnapshot()[0]).not.toHaveProperty("error");
  });

  test("have expired if the gateway no longer has them after the time in its first response", async () => {
    const storage = memoryStorage();
    const handle = { id: "t-1", model: request.model, createdAt: 1, queryableUntil: 2 };
    const stored = { key: "k", model: request.model, submittedAt: 1, state: "created", handle, revision: 1 };
    await storage.write("video-tasks", new Map([["k", stored]]));
    const { open, watch, client, clock, queries } = openPage([createRefusal(404)], { storage });
    await listVideoTasks(client, { storage });
    const video = open({ storage });
    watch(video);
    video.attach("t-1");
    // a new task may be unknown for 30 seconds
    const isOver = () => video.getSnapshot().status === "error";
    while (queries.length < 10 && !isOver()) await clock.advance(15_000);
    expect(video.getSnapshot().error).toMatchObject({ name: "TaskError", reason: "expired" });
  });

  test("are removed when another page removes them, and an older copy is ignored", async () => {
    const storage = memoryStorage();
    const { client, presence, watch } = openPage([running("10%")], { storage });
    const list = createVideoTaskList(client, { storage, presence });
    watch(list);
    await settled();
    const entry = { key: "k", model: request.model, submittedAt: 1, state: "unconfirmed" };
    const write = (record: object | undefined) => storage.write("video-tasks", new Map([["k", record]]));
    await write({ ...entry, label: "newer", revision: 2 });
    await write({ ...entry, label: "older", revision: 1 });
    await shows(list, (tasks) => tasks.length > 0);
    await settled();
    expect(list.getSnapshot()).toMatchObject([{ label: "newer" }]);
    await write(undefined);
    await shows(list, (tasks) => tasks.length === 0);
  });

  describe("whose end one tab has seen", () => {
    const handle = { id: "t-1", model: request.model, createdAt: 1 };
    const entry = { key: "k", model: request.model, submittedAt: 1, state: "created", handle };
    const runningTask = { id: "t-1", state: "running", rawStatus: "IN_PROGRESS", progress: 0.1 };
    const succeeded = {
      id: "t-1",
      state: "succeeded",
      rawStatus: "SUCCESS",
      url,
      urlSource: "data.result_url",
    };
    const failed = { id: "t-1", state: "failed", rawStatus: "FAILURE", reason: "not allowed" };
    const forgotten = { name: "APIError", message: "no such task" };

    /** Opens a page that shows its list; `write` writes from another tab. */
    async function pageWith(task: object, revision: number, storage = memoryStorage()) {
      const write = (changes: object) =>
        storage.write("video-tasks", new Map([["k", { ...entry, ...changes }]]));
      await write({ task, revision });
      const opened = openPage([running("20%"), createRefusal(404)], { storage });
      const list = createVideoTaskList(opened.client, { storage, presence: opened.presence });
      opened.watch(list);
      await shows(list, (tasks) => tasks[0]?.task !== undefined);
      const stored = async () => (await storage.read("video-tasks")).get("k");
      return { ...opened, list, storage, write, stored };
    }

    test.each([succeeded, failed])("stay $state when a frozen tab writes an older state", async (end) => {
      const { list, write, stored } = await pageWith(end, 5);
      for (const revision of [4, 5, 9]) {
        await write({ task: runningTask, error: forgotten, revision });
        await settled();
        expect(list.getSnapshot()).toMatchObject([{ task: end }]);
        expect(list.getSnapshot()[0]).not.toHaveProperty("error");
        expect(await stored()).toMatchObject({ task: end });
        expect(await stored()).not.toHaveProperty("error");
      }
    });

    test("end in a tab with a higher revision, and in its storage", async () => {
      const { list, write, stored } = await pageWith(runningTask, 9);
      await write({ task: succeeded, revision: 2 });
      await shows(list, (tasks) => tasks[0]?.task?.state === "succeeded");
      await settled();
      expect(await stored()).toMatchObject({ task: { state: "succeeded" } });
      expect((await stored()) as object).toHaveProperty(
        "revision",
        expect.toSatisfy((count) => count > 9),
      );
    });

    test("end in a store whose own polls no longer find the task, and are not polled again", async () => {
      const storage = memoryStorage();
      const { open, watch, write, clock, queries } = await pageWith(runningTask, 1, storage);
      const video = open({ storage });
      watch(video);
      video.attach("t-1");
      await shows(video, isResting);
      await clock.advance(15_000);
      await shows(video, ({ failureReason }) => failureReason !== undefined);
      await write({ task: succeeded, revision: 9 });
      await shows(video, ({ status }) => status === "success");
      expect(video.getSnapshot()).toMatchObject({
        data: { url },
        failureReason: undefined,
        error: undefined,
      });
      await clock.advance(600_000);
      expect(queries).toHaveLength(2);
    });
  });

  test("stay in the list until their link has expired", async () => {
    const storage = memoryStorage();
    const createEntry = (key: string, expiresAt: number) =>
      [
        key,
        {
          key,
          model: request.model,
          submittedAt: key === "young" ? 2 : 1,
          state: "created",
          handle: { id: key },
          task: {
            id: key,
            state: "succeeded",
            rawStatus: "SUCCESS",
            url,
            urlSource: "data.result_url",
            expiresAt,
          },
          revision: 1,
        },
      ] as const;
    await storage.write(
      "video-tasks",
      new Map([
        createEntry("old", Date.now() - 1),
        createEntry("fresh", Date.now() + 60_000),
        createEntry("young", Date.now() + 60_000),
      ]),
    );
    expect(await listVideoTasks(openPage([success]).client, { storage })).toMatchObject([
      { key: "young" },
      { key: "fresh" },
    ]);
    await settled();
    expect([...(await storage.read("video-tasks")).keys()]).toEqual(["fresh", "young"]);
  });

  test("are the same in two tabs, and an older copy that arrives late is ignored", async () => {
    const storage = memoryStorage();
    const late: (() => void)[] = [];
    const slow: RecordStorage = {
      ...storage,
      subscribe: (collection, listener) =>
        storage.subscribe(collection, (changes) => void late.push(() => listener(changes))),
    };
    const left = openPage([running("10%")], { storage: slow });
    const leftList = createVideoTaskList(left.client, { storage: slow, presence: left.presence });
    left.watch(leftList);
    const right = openPage([running("10%")], { storage });
    const rightList = createVideoTaskList(right.client, { storage, presence: right.presence });
    right.watch(rightList);
    await settled();
    await left.open({ storage: slow }).create(request);
    await shows(rightList, (tasks) => tasks[0]?.state === "created");
    for (const tell of late) tell();
    expect(leftList.getSnapshot()).toMatchObject([{ state: "created", handle: { id: "t-1" } }]);
  });

  test("are shown as submitting while another tab creates them", async () => {
    const storage = memoryStorage();
    const { create, sent, arrive } = holdCreate();
    const submitted = openPage([success], { storage, create }).open({ storage }).create(request);
    await sent;
    expect(await listVideoTasks(openPage([success]).client, { storage })).toMatchObject([
      { state: "submitting" },
    ]);
    arrive(receipt());
    await submitted;
  });

  test("are ignored if they are damaged", async () => {
    const storage = memoryStorage();
    await storage.write(
      "video-tasks",
      new Map<string, unknown>([
        ["a", "text"],
        ["b", { key: "b", model: "m", submittedAt: 1, state: "created", revision: 1 }],
        ["c", { key: "other", model: "m", submittedAt: 1, state: "unconfirmed", revision: 1 }],
        ["d", { key: "d", model: "m", submittedAt: "1", state: "unconfirmed", revision: 1 }],
        ["e", { key: "e", model: "m", submittedAt: 1, state: "unconfirmed" }],
      ]),
    );
    expect(await listVideoTasks(openPage([success]).client, { storage })).toEqual([]);
  });
});

describe("a task in two tabs", () => {
  test("ends in both when one of them gets the final response", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%"), success], { baseURL });
    const right = openPage([success], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    await left.clock.advance(15_000);
    await shows(two, ({ status }) => status === "success");
    await settled();
    // the other tab leads now, and has nothing to poll
    await left.clock.advance(1000);
    await settled();
    expect([left.queries.length, right.queries.length]).toEqual([2, 0]);
  });

  test("ends in a tab whose own poll failed, without the error of that poll", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([createRefusal(401)], { baseURL });
    const right = openPage([running("10%"), success], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, ({ status }) => status === "error");
    right.watch(two);
    two.attach("t-1");
    await shows(two, isResting);
    await right.clock.advance(15_000);
    await shows(one, ({ status }) => status === "success");
    expect(one.getSnapshot()).toMatchObject({ error: undefined, data: { url } });
  });

  test("is polled by the leader, updates the other, and gets a new leader when the first is closed", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%"), running("20%")], { baseURL });
    const right = openPage([running("50%"), success], { baseURL });
    const [one, two] = [left.open(), right.open()];
    const leave = left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    await shows(two, isResting);
    expect([left.queries.length, right.queries.length]).toEqual([1, 0]);
    await left.clock.advance(15_000);
    await shows(two, ({ progress }) => progress === 0.2);
    await shows(two, isResting);
    expect(right.queries).toHaveLength(0);
    leave();
    await left.clock.advance(1000);
    await shows(two, ({ progress }) => progress === 0.5);
    await shows(two, isResting);
    await right.clock.advance(15_000);
    await shows(two, ({ status }) => status === "success");
    expect(left.queries).toHaveLength(2);
  });

  test("is polled by the visible tab when the other is hidden", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%")], { baseURL });
    const right = openPage([running("50%")], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    left.becomes("hidden");
    await shows(two, ({ progress }) => progress === 0.5);
    await shows(one, ({ progress }) => progress === 0.5);
    expect(one.getSnapshot()).toMatchObject({ fetchStatus: "paused", pauseReason: "hidden" });
  });

  test("is polled at once by the leader when the other tab refetches", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%"), running("20%")], { baseURL });
    const right = openPage([running("50%")], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    two.refetch();
    await shows(two, ({ progress = 0 }) => progress > 0.1);
    expect(left.queries.length + right.queries.length).toBe(2);
  });

  test("is polled at once when the leader itself refetches, which then waits for the lock again", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%"), running("60%")], { baseURL });
    const right = openPage([running("50%"), running("60%")], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    left.becomes("hidden");
    await shows(one, ({ progress }) => progress === 0.5);
    left.becomes(undefined);
    one.refetch();
    await shows(one, ({ progress }) => progress === 0.6);
    expect(left.queries.length + right.queries.length).toBe(3);
  });

  test("does not show fetching in a tab that refetched and so released the lock", async () => {
    const baseURL = `https://gateway-${Math.random()}.test`;
    const left = openPage([running("10%"), () => new Promise(() => {})], { baseURL });
    const right = openPage([running("50%")], { baseURL });
    const [one, two] = [left.open(), right.open()];
    left.watch(one);
    one.attach("t-1");
    await shows(one, isResting);
    right.watch(two);
    two.attach("t-1");
    await shows(two, ({ progress }) => progress === 0.1);
    await left.clock.advance(15_000);
    expect(one.getSnapshot().fetchStatus).toBe("fetching");
    one.refetch();
    await shows(one, ({ progress }) => progress === 0.5);
    expect(one.getSnapshot().fetchStatus).toBe("idle");
  });
});
