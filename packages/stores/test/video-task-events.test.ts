import { type ClientOptions, type VideoTask, type WatchOptions, watchVideoTask } from "@sluice/core";
import { createVideoTaskStore, memoryStorage } from "@sluice/stores";
import { describe, expect, test } from "vitest";
import {
  catchError,
  createTestClient,
  openBody,
  stoppedClock,
  streamResponse,
} from "../../core/test/support/gateway.js";
import type { PollEvent } from "../src/tasks/watch-plan.js";

const url = "https://cdn.test/v.mp4?sig=1";
const PATH = "/v1/video/generations/t-1";
const EVENTS = `${PATH}/events`;
const PAUSE_MS = 15_000;

const envelope = (data: object) => ({ code: "success", message: "", data: { task_id: "t-1", ...data } });
const queued = envelope({ status: "QUEUED" });
const running = (percent: number) => envelope({ status: "IN_PROGRESS", progress: `${percent}%` });
const success = envelope({ status: "SUCCESS", result_url: url });

/** Creates a response of a proxy that offers events. */
const offering = (json: object) =>
  Response.json(json, { headers: { "x-sluice-features": "a-thing, video-events" } });
const pushed = (json: object) => `id: 7\nevent: task\ndata: ${JSON.stringify(json)}\n\n`;
const END = "event: end\ndata: {}\n\n";

type Respond = () => Response | Promise<Response>;

/** Watches a task. Polls and event streams get their own responses; the last ones are repeated. */
function watchTask(
  polls: readonly Respond[],
  streams: readonly Respond[],
  options: WatchOptions<VideoTask> = {},
  clientOptions: Partial<ClientOptions> = {},
) {
  const clock = stoppedClock();
  const requested: string[] = [];
  const { client, requests } = createTestClient(
    (request) => {
      const path = new URL(request.url).pathname;
      requested.push(`${path === EVENTS ? "events" : "poll"} ${clock.now() / 1000}`);
      const responses = path === EVENTS ? streams : polls;
      const nth = requested.filter((line) => line.startsWith(path === EVENTS ? "events" : "poll")).length;
      return (responses[Math.min(nth, responses.length) - 1] as Respond)();
    },
    { clock, random: () => 0.5, ...clientOptions },
  );
  const emitted: PollEvent[] = [];
  let rested: () => void = () => {};
  let passed = 0;
  const tasks = watchVideoTask(client, "t-1", {
    ...options,
    onPoll(event) {
      emitted.push(event);
      if (event.type === "wait") rested();
    },
  })[Symbol.asyncIterator]();
  return {
    clock,
    requested,
    requests,
    emitted,
    tasks,
    /** Waits for the next snapshot. */
    async next() {
      const { value } = await tasks.next();
      const { state, progress } = (value ?? {}) as VideoTask;
      return progress === undefined ? state : `${state} ${progress}`;
    },
    /** Waits until the watch pauses, and advances the clock to its end. */
    async pause() {
      passed += 1;
      await new Promise<void>((resolve) => {
        rested = () => emitted.filter(({ type }) => type === "wait").length >= passed && resolve();
        rested();
      });
      await clock.advance(PAUSE_MS);
    },
  };
}

const events = (...texts: string[]) => streamResponse(texts.join(""));

describe("if a proxy offers events", () => {
  test("changes are pushed to the end, and nothing is polled meanwhile", async () => {
    const body = openBody();
    const { next, requested, emitted, tasks, requests } = watchTask(
      [() => offering(queued)],
      [() => streamResponse(body.body)],
      { headers: { "x-team": "reef" } },
    );
    expect(await next()).toBe("queued");
    body.send(`:\n\n${pushed(queued)}${pushed(running(10))}`);
    expect(await next()).toBe("running 0.1");
    body.send(`event: other\ndata: {}\n\n${pushed(running(60))}${pushed(success)}${END}`);
    expect([await next(), await next()]).toEqual(["running 0.6", "succeeded 0.6"]);
    expect(await tasks.next()).toEqual({ done: true, value: undefined });
    expect(requested).toEqual(["poll 0", "events 0"]);
    expect(emitted).toEqual([{ type: "poll" }]);
    expect(requests.map(({ headers }) => headers.get("x-team"))).toEqual(["reef", "reef"]);
    expect(body.cancelled).toBe(true);
  });

  test("events are requested only if the proxy offers them, and not after a final response", async () => {
    const plain = watchTask([() => Response.json(queued), () => Response.json(success)], []);
    await plain.next();
    const over = plain.next();
    await plain.pause();
    expect(await over).toBe("succeeded");
    expect(plain.requested).toEqual(["poll 0", "poll 15"]);

    const final = watchTask([() => offering(success)], []);
    expect([await final.next(), (await final.tasks.next()).done]).toEqual(["succeeded", true]);
    expect(final.requested).toEqual(["poll 0"]);
  });

  test("pushed changes pass through the parser of the client", async () => {
    const parseVideoTask: NonNullable<ClientOptions["gateway"]>["parseVideoTask"] = (raw) => ({
      id: "t-1",
      state: "unknown",
      rawStatus: (raw as { data: { status: string } }).data.status,
      raw,
    });
    const { tasks } = watchTask(
      [() => offering(queued)],
      [() => events(pushed(running(10)))],
      {},
      { gateway: { parseVideoTask } },
    );
    await tasks.next();
    expect((await tasks.next()).value).toMatchObject({ state: "unknown", rawStatus: "IN_PROGRESS" });
  });

  test("an older event changes neither progress nor state", async () => {
    const { next } = watchTask(
      [() => offering(running(50))],
      [() => events(pushed(queued), pushed(running(30)), pushed(running(70)), pushed(success))],
    );
    expect([await next(), await next(), await next()]).toEqual([
      "running 0.5",
      "running 0.7",
      "succeeded 0.7",
    ]);
  });

  test("snapshots do not contain the API key", async () => {
    const { tasks } = watchTask(
      [() => offering(queued)],
      [() => events(pushed(envelope({ status: "FAILURE", fail_reason: "no credit on sk-secret-key" })))],
      {},
      { apiKey: "sk-secret-key", dangerouslyAllowBrowser: true } as Partial<ClientOptions>,
    );
    await tasks.next();
    expect(JSON.stringify((await tasks.next()).value)).not.toContain("sk-secret-key");
  });
});

describe("polling continues at the usual interval", () => {
  const refusal = (status: number) => () => Response.json({ error: { message: "no" } }, { status });
  test.each<[string, Respond]>([
    ["are not there", refusal(404)],
    ["are not allowed", refusal(405)],
    ["are refused for now", refusal(429)],
    ["fail", refusal(502)],
    ["can't be reached", () => Promise.reject(new TypeError("fetch failed"))],
    ["are a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["end without a final state", () => events(pushed(queued), END)],
    ["say that they failed", () => events('event: error\ndata: {"error":{"message":"no"}}\n\n')],
    ["are no JSON", () => events("event: task\ndata: {\n\n")],
    ["show no task", () => events(pushed({ code: "success", data: { status: 5 } }))],
  ])("when events %s", async (_, respond) => {
    const { next, pause, requested } = watchTask(
      [() => offering(queued), () => offering(success)],
      [respond],
    );
    expect(await next()).toBe("queued");
    const over = next();
    await pause();
    expect(await over).toBe("succeeded");
    expect(requested).toEqual(["poll 0", "events 0", "poll 15"]);
  });

  test("Polling continues when the event stream breaks off, and no change is lost", async () => {
    const body = openBody();
    const { next, pause, requested, emitted } = watchTask(
      [() => offering(queued), () => offering(running(40)), () => offering(success)],
      [() => streamResponse(body.body)],
    );
    await next();
    body.send(pushed(running(20)));
    expect(await next()).toBe("running 0.2");
    const polled = next();
    body.drop();
    await pause();
    expect(await polled).toBe("running 0.4");
    expect(emitted).toEqual([
      { type: "poll" },
      { type: "wait", ms: PAUSE_MS, failure: undefined },
      { type: "poll" },
    ]);
    expect(requested).toEqual(["poll 0", "events 0", "poll 15"]);
  });

  test("Polling continues when the event stream is silent", async () => {
    const body = openBody();
    const { next, clock, requested, pause } = watchTask(
      [() => offering(queued), () => offering(success)],
      [() => streamResponse(body.body)],
    );
    await next();
    const over = next();
    await body.wanted();
    await clock.advance(59_999);
    expect(requested).toHaveLength(2);
    const paused = pause();
    await clock.advance(1);
    await paused;
    expect(await over).toBe("succeeded");
    expect(body.cancelled).toBe(true);
    expect(requested).toEqual(["poll 0", "events 0", "poll 75"]);
  });

  test("Events are requested again after a minute, if the task has changed", async () => {
    const polls = [0, 10, 20, 30, 40, 40, 50].map((percent) => () => offering(running(percent)));
    const { next, pause, requested } = watchTask(polls, [() => events(), () => events(pushed(success))]);
    await next();
    for (let count = 0; count < 4; count += 1) {
      const polled = next();
      await pause();
      await polled;
    }
    expect(await next()).toBe("succeeded 0.4");
    expect(requested).toEqual([
      "poll 0",
      "events 0",
      "poll 15",
      "poll 30",
      "poll 45",
      "poll 60",
      "events 60",
    ]);
  });

  test("Events are not requested again after a response without a change", async () => {
    const polls = [0, 0, 0, 0, 0, 0, 5].map((percent) => () => offering(running(percent)));
    const { next, pause, requested } = watchTask(polls, [() => events(), () => events(pushed(success))]);
    await next();
    const polled = next();
    for (let count = 0; count < 6; count += 1) await pause();
    expect([await polled, await next()]).toEqual(["running 0.05", "succeeded 0.05"]);
    expect(requested.filter((line) => line.startsWith("events"))).toEqual(["events 0", "events 90"]);
  });

  test("A success without a URL is polled three more times, pushed or not", async () => {
    const noURL = envelope({ status: "SUCCESS" });
    const { next, pause, tasks, requested } = watchTask(
      [() => offering(queued), () => offering(noURL)],
      [() => events(pushed(noURL), END)],
    );
    expect([await next(), await next()]).toEqual(["queued", "result-pending"]);
    const failed = catchError(tasks.next());
    for (let count = 0; count < 3; count += 1) await pause();
    expect(await failed).toMatchObject({ name: "TaskError", reason: "no-result" });
    expect(requested).toHaveLength(5);
  });
});

describe("watching ends during pushed changes", () => {
  /** Creates a watch that listens to a silent event stream. */
  async function listening(options: WatchOptions<VideoTask> = {}) {
    const body = openBody();
    const watch = watchTask([() => offering(queued)], [() => streamResponse(body.body)], options);
    await watch.next();
    const over = catchError(watch.tasks.next());
    await body.wanted();
    return { ...watch, body, over };
  }

  test("Watching ends at the deadline", async () => {
    const { clock, over, body, emitted } = await listening({ deadlineMs: 50_000 });
    await clock.advance(50_000);
    expect(await over).toMatchObject({ name: "TimeoutError", phase: "deadline", handle: { id: "t-1" } });
    expect(body.cancelled).toBe(true);
    expect(emitted).toEqual([{ type: "poll" }]);
  });

  test("An abort ends watching with the caller's reason, and closes the connection", async () => {
    const controller = new AbortController();
    const { over, body, emitted, requested } = await listening({ signal: controller.signal });
    controller.abort("enough");
    expect(await over).toBe("enough");
    expect(body.cancelled).toBe(true);
    expect([emitted.length, requested.length]).toEqual([1, 2]);
  });

  test("Breaking the loop closes the connection and the timers", async () => {
    const body = openBody();
    const { tasks, next, clock } = watchTask([() => offering(queued)], [() => streamResponse(body.body)], {
      timeout: { totalMs: 100_000 },
    });
    await next();
    body.send(pushed(running(10)) + pushed(running(20)));
    await next();
    await tasks.return?.();
    expect(body.cancelled).toBe(true);
    expect(clock.sleeping()).toBe(0);
  });
});

test("a store shows pushed changes, and no time for a next poll", async () => {
  const body = openBody();
  const clock = stoppedClock();
  const { client } = createTestClient(
    ({ url }) => (url.endsWith("/events") ? streamResponse(body.body) : offering(queued)),
    { clock, random: () => 0.5 },
  );
  const store = createVideoTaskStore(client, { storage: memoryStorage() });
  // its own id, because tabs of other tests in this process share their state by id
  store.attach("t-pushed");
  const stop = store.subscribe(() => {});
  await body.wanted();
  expect(store.getSnapshot()).toMatchObject({ fetchStatus: "idle", nextPollAt: undefined });
  const taken = new Promise<void>((resolve) => {
    const leave = store.subscribe(() => {
      if (store.getSnapshot().task?.state !== "succeeded") return;
      leave();
      resolve();
    });
  });
  body.send(pushed(success) + END);
  await taken;
  expect(store.getSnapshot()).toMatchObject({ fetchStatus: "idle", nextPollAt: undefined });
  stop();
});
