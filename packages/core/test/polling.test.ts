import {
  type ClientOptions,
  getVideoTask,
  type VideoTask,
  type VideoTaskHandle,
  type WatchOptions,
  watchVideoTask,
} from "@sluice/core";
import { describe, expect, test } from "vitest";
import { catchError } from "./support/gateway.js";
import { type Step, startPolling } from "./support/polling.js";

const video = "https://cdn.test/v.mp4?sig=1";
const handle: VideoTaskHandle = { id: "t-1", model: "gamma-video-2.0", createdAt: 1_755_000_000_000 };

const respond = (data: object) =>
  Response.json({ code: "success", message: "", data: { task_id: "t-1", ...data } });
const queued = () => respond({ status: "QUEUED" });
const running = (progress?: string) => () => respond({ status: "IN_PROGRESS", progress });
const success = () => respond({ status: "SUCCESS", result_url: video });
const noURL = () => respond({ status: "SUCCESS", result_url: null });
const refusal =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    Response.json({ error: { message: `refused with ${status}`, code: "x" } }, { status, headers });
/** A 404 of a server between page and gateway: read here, or by the proxy. */
const strangers = [
  ["a page", () => new Response("<h1>404</h1>", { status: 404, headers: { "content-type": "text/html" } })],
  ["nothing", () => new Response(null, { status: 404 })],
  [
    "a page that the proxy met",
    () => Response.json({ error: { message: "no", code: "upstream_type" } }, { status: 404 }),
  ],
] as const;
const page = (status: number) => () =>
  new Response("<h1>Sorry</h1>", { status, headers: { "content-type": "text/html" } });
const cut = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNRESET" } }));
const envelope = () => Response.json({ code: "db_error", message: "try later", data: null });
const nonsense = () => Response.json({ code: "success", message: "", data: { status: 5 } });

/** Watches a task whose queries get `steps` as responses; later queries get the last step. There is no jitter by default. */
function watchSteps(
  steps: readonly Step[],
  options: WatchOptions<VideoTask> = {},
  clientOptions: Partial<ClientOptions> = {},
) {
  const { client, polledAt, advance, track, gateway } = startPolling(
    steps,
    options.deadlineMs ?? 1_800_000,
    clientOptions,
  );
  const seen: VideoTask[] = [];
  let ended = false;
  const over = (async () => {
    try {
      for await (const task of watchVideoTask(client, handle, options)) seen.push(task);
    } finally {
      ended = true;
    }
  })();
  track(over).catch(() => {});
  const minutes = (count: number) => advance(count * 60_000);
  return { polledAt, seen, over, minutes, advance, gateway, hasEnded: () => ended };
}

/** Starts to poll a task, and returns before the task ends. */
function pollSteps(...steps: readonly Step[]) {
  return startPolling(steps, 1_800_000);
}

describe("watching", () => {
  test("polls at once and every 15 seconds, yields a snapshot per change, and ends with the final one", async () => {
    const { polledAt, seen, over, minutes } = watchSteps([
      queued,
      queued,
      running("10%"),
      running("60%"),
      success,
    ]);
    await minutes(2);
    await over;
    expect(polledAt).toEqual([0, 15, 30, 45, 60]);
    expect(seen.map(({ state, progress }) => [state, progress])).toEqual([
      ["queued", undefined],
      ["running", 0.1],
      ["running", 0.6],
      ["succeeded", 0.6],
    ]);
    expect(seen.at(-1)).toMatchObject({ url: video, urlSource: "data.result_url" });
  });

  test("counts the interval from the response, and varies it by up to 10 %", async () => {
    const slow = watchSteps([queued, success], {}, {});
    await slow.minutes(1);
    const early = watchSteps([queued, success], {}, { random: () => 0 });
    await early.minutes(1);
    const late = watchSteps([queued, success], { intervalMs: 1000 }, { random: () => 0.999_999 });
    await late.minutes(1);
    expect([early.polledAt[1], slow.polledAt[1]]).toEqual([13.5, 15]);
    expect(late.polledAt[1]).toBeCloseTo(1.1, 4);
  });

  test("ends at once if a proxy does not serve the path, and names the fix", async () => {
    const closed = () =>
      Response.json(
        { error: { message: "there is nothing at this path", type: "proxy_error", code: "not_found" } },
        { status: 404, headers: { "x-sluice-source": "proxy" } },
      );
    const { polledAt, over, minutes } = watchSteps([closed]);
    await minutes(1);
    expect(await catchError(over)).toMatchObject({
      name: "APIError",
      source: "proxy",
      message: expect.stringMatching(/add videos to its `routes`/),
      handle,
    });
    expect(polledAt).toEqual([0]);
  });

  test("starts the interval only after a response", async () => {
    const slow: Step = async () => {
      await task.gateway.sleep(20_000);
      return queued();
    };
    const task = watchSteps([slow, success]);
    await task.minutes(1);
    expect(task.polledAt).toEqual([0, 35]);
  });

  test("never lets progress decrease", async () => {
    const { seen, over, minutes } = watchSteps([
      running("40%"),
      running("20%"),
      running(),
      running("50%"),
      success,
    ]);
    await minutes(2);
    await over;
    expect(seen.map(({ progress }) => progress)).toEqual([0.4, 0.5, 0.5]);
  });

  test("yields no change if only the trace id changed", async () => {
    let trace = 0;
    const traced = () => respond({ status: "QUEUED", request_id: `r-${++trace}` });
    const { seen, polledAt, minutes } = watchSteps([traced, traced, traced, success]);
    await minutes(2);
    expect(polledAt).toHaveLength(4);
    expect(seen.map(({ state }) => state)).toEqual(["queued", "succeeded"]);
  });

  test("continues with an unknown status, up to the deadline", async () => {
    const { seen, over, minutes } = watchSteps([() => respond({ status: "REVIEW" })], { deadlineMs: 60_000 });
    await minutes(2);
    expect(await catchError(over)).toMatchObject({ name: "TimeoutError", phase: "deadline" });
    expect(seen).toMatchObject([{ state: "unknown", rawStatus: "REVIEW" }]);
  });

  test("ends with a failed task without an error of the watch", async () => {
    const { seen, over, minutes } = watchSteps([() => respond({ status: "FAILURE", fail_reason: "policy" })]);
    await minutes(1);
    await over;
    expect(seen).toMatchObject([{ state: "failed", reason: "policy" }]);
  });
});

describe("continues after every transient failure", () => {
  test.each([
    ["429", refusal(429)],
    ["500", refusal(500)],
    ["503", refusal(503)],
    ["502 with a page", page(502)],
    ["408", refusal(408)],
    ["425", refusal(425)],
    ["a dropped connection", cut],
  ])("backs off during a storm of %s, and the task still succeeds", async (_, step) => {
    const { polledAt, seen, over, minutes } = watchSteps([queued, ...Array(6).fill(step), success]);
    await minutes(15);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
    expect(polledAt).toEqual([0, 15, 30, 60, 120, 240, 360, 480]);
  });

  test("waits at least Retry-After, also with the jitter", async () => {
    const { polledAt, minutes } = watchSteps(
      [refusal(429, { "retry-after": "600" }), success],
      {},
      { random: () => 0 },
    );
    await minutes(15);
    expect(polledAt[0]).toBe(0);
    expect(polledAt[1]).toBeGreaterThanOrEqual(600);
    expect(polledAt[1]).toBeLessThan(601);
  });

  test("polls again after a query has timed out", async () => {
    const never = () => new Promise<Response>(() => {});
    const { polledAt, seen, over, minutes } = watchSteps([never, success]);
    await minutes(5);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
    expect(polledAt).toEqual([0, 75.001]);
  });

  test("treats a response nested 20,000 levels deep as unreadable", async () => {
    const deep = `${'{"data":['.repeat(10_000)}1${"]}".repeat(10_000)}`;
    const { seen, over, minutes } = watchSteps([() => new Response(deep), success]);
    await minutes(2);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
  });

  test.each([404, 400])("continues after %i for 30 seconds after the creation", async (status) => {
    const { seen, over, minutes } = watchSteps([refusal(status), refusal(status), success]);
    await minutes(2);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
  });

  test("continues after a 404 of the gateway itself that has the proxy's code", async () => {
    const unknown = () =>
      Response.json({ error: { message: "no such task", code: "not_found" } }, { status: 404 });
    const { seen, over, minutes } = watchSteps([unknown, success]);
    await minutes(2);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
  });

  test("ends with a 404 after 30 seconds, with the handle", async () => {
    const { polledAt, over, minutes } = watchSteps([refusal(404)]);
    await minutes(2);
    expect(await catchError(over)).toMatchObject({ name: "APIError", status: 404, handle });
    expect(polledAt).toEqual([0, 15, 30]);
  });

  test("ends for a known task only after two minutes of 404s", async () => {
    const passing = watchSteps([queued, ...Array.from({ length: 7 }, () => refusal(404)), success]);
    await passing.minutes(3);
    await passing.over;
    expect(passing.seen.at(-1)?.state).toBe("succeeded");
    const { polledAt, over, minutes } = watchSteps([queued, refusal(404)]);
    await minutes(5);
    expect(await catchError(over)).toMatchObject({ status: 404, handle });
    expect(polledAt.at(-1)).toBe(135);
    // of a slow loop, one or two responses say nothing
    const slow = watchSteps([queued, refusal(404), refusal(404), refusal(404), success], {
      intervalMs: 120_000,
    });
    await slow.minutes(10);
    await slow.over;
  });

  test.each(strangers)("counts a 404 with %s separately from the gateway's 404s", async (_, stranger) => {
    const absent = Array.from({ length: 5 }, () => refusal(404));
    const passing = watchSteps([
      stranger,
      stranger,
      stranger,
      queued,
      ...absent,
      stranger,
      ...absent,
      success,
    ]);
    await passing.minutes(5);
    await passing.over;
    expect(passing.seen.at(-1)?.state).toBe("succeeded");
    const lasting = watchSteps([stranger]);
    await lasting.minutes(2);
    expect(await catchError(lasting.over)).toMatchObject({ name: "APIError", status: 404, handle });
    expect(lasting.polledAt).toHaveLength(4);
  });

  test.each(strangers)("a 404 with %s is not reported as an expired task", async (_, stranger) => {
    const { client, track, advance } = pollSteps(stranger, stranger, success);
    const old = { ...handle, queryableUntil: 1 };
    const finished = track(watchVideoTask(client, old, { seenBefore: true }).result());
    await advance(60_000);
    expect(await finished).toMatchObject({ state: "succeeded" });
    const failing = pollSteps(stranger);
    expect(await catchError(getVideoTask(failing.client, old))).toMatchObject({
      name: "APIError",
      handle: old,
    });
  });

  test.each([400, 402, 409, 410, 418])(
    "continues after %i for a task that was seen before",
    async (status) => {
      const passing = watchSteps([queued, ...Array.from({ length: 3 }, () => refusal(status)), success]);
      await passing.minutes(2);
      await passing.over;
      expect(passing.seen.at(-1)?.state).toBe("succeeded");
      const lasting = watchSteps([queued, refusal(status)]);
      await lasting.minutes(5);
      expect(await catchError(lasting.over)).toMatchObject({ name: "APIError", status, handle });
      expect(lasting.polledAt).toHaveLength(5);
    },
  );

  test("counts responses without a task separately from 404s", async () => {
    const absent = Array.from({ length: 5 }, () => refusal(404));
    const { seen, over, minutes } = watchSteps([queued, ...absent, nonsense, ...absent, nonsense, success]);
    await minutes(5);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
  });

  test("waits at most ten minutes, even if Retry-After is longer", async () => {
    const { polledAt, over, minutes, seen } = watchSteps([
      queued,
      refusal(429, { "retry-after": "86400" }),
      success,
    ]);
    await minutes(12);
    await over;
    expect(seen.at(-1)?.state).toBe("succeeded");
    expect(polledAt).toHaveLength(3);
  });

  test.each([
    ["an envelope that is no success", envelope, { name: "APIError", code: "db_error" }],
    ["a page to sign in", page(200), { name: "APIError", status: 200 }],
    ["a response that is no task", nonsense, { name: "ResponseError", path: "data.status" }],
  ])("polls a few more times after %s, then throws it", async (_, step, error) => {
    const passing = watchSteps([step, step, step, success]);
    await passing.minutes(2);
    await passing.over;
    const lasting = watchSteps([step]);
    await lasting.minutes(5);
    expect(await catchError(lasting.over)).toMatchObject({ ...error, handle });
    expect(lasting.polledAt).toHaveLength(4);
  });

  test.each([401, 403])("ends at once with %i", async (status) => {
    const { polledAt, over, minutes } = watchSteps([queued, refusal(status)]);
    await minutes(1);
    expect(await catchError(over)).toMatchObject({ name: "APIError", status, handle });
    expect(polledAt).toHaveLength(2);
  });
});

describe("a success without a URL", () => {
  test("is polled again, and may still get its URL", async () => {
    const { seen, over, minutes } = watchSteps([noURL, noURL, noURL, success]);
    await minutes(2);
    await over;
    expect(seen.map(({ state }) => state)).toEqual(["result-pending", "succeeded"]);
  });

  test("is a failure after three more polls, with the task and its handle", async () => {
    const { polledAt, over, minutes } = watchSteps([running("90%"), noURL]);
    await minutes(5);
    expect(await catchError(over)).toMatchObject({
      name: "TaskError",
      reason: "no-result",
      task: { state: "result-pending", rawStatus: "SUCCESS" },
      handle,
    });
    expect(polledAt).toHaveLength(5);
  });
});

describe("the end of a watch", () => {
  test("result() returns the video", async () => {
    const { client } = pollSteps(success);
    expect((await watchVideoTask(client, handle).result()).url).toBe(video);
  });

  test("result() sends no extra query during a loop", async () => {
    const { client, polledAt } = pollSteps(success);
    const watch = watchVideoTask(client, handle);
    const result = watch.result();
    const states: string[] = [];
    for await (const { state } of watch) states.push(state);
    expect((await result).url).toBe(video);
    expect(states).toEqual(["succeeded"]);
    expect(polledAt).toHaveLength(1);
    expect(() => watch[Symbol.asyncIterator]()).toThrow("already read");
  });

  test("result() rejects when the loop ends early", async () => {
    const { client } = pollSteps(running());
    const watch = watchVideoTask(client, handle);
    const result = catchError(watch.result());
    for await (const _ of watch) break;
    expect(await result).toMatchObject({ name: "AbortError" });
  });

  test("result() throws the failure, with the task and its handle", async () => {
    const { client } = pollSteps(() => respond({ status: "FAILURE", fail_reason: "policy" }));
    const error = await catchError(watchVideoTask(client, handle).result());
    expect(error).toMatchObject({
      name: "TaskError",
      reason: "failed",
      message: "the video task failed: policy",
      task: { reason: "policy" },
      handle,
    });
  });

  test("the deadline ends the watch after 30 minutes, and the error says how to continue", async () => {
    const { over, minutes, hasEnded } = watchSteps([queued]);
    await minutes(29.9);
    expect(hasEnded()).toBe(false);
    await minutes(0.2);
    const error = await catchError(over);
    expect(error).toMatchObject({ name: "TimeoutError", phase: "deadline", handle });
    expect((error as Error).message).toMatch(/still runs.*handle/);
  });

  test("the deadline ends a request in flight", async () => {
    const signals: AbortSignal[] = [];
    const never: Step = ({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const { over, minutes } = watchSteps([never], { deadlineMs: 30_000 });
    await minutes(1);
    expect(await catchError(over)).toMatchObject({ phase: "deadline" });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("the caller's abort ends the watch at once: during a wait, in flight, and before the start", async () => {
    const never = () => new Promise<Response>(() => {});
    for (const steps of [[queued], [never]]) {
      const controller = new AbortController();
      const { over, advance } = watchSteps(steps, { signal: controller.signal });
      await advance(1000);
      const reason = new Error("the page was left");
      controller.abort(reason);
      expect(await catchError(over)).toBe(reason);
    }
    const { over, polledAt } = watchSteps([queued], { signal: AbortSignal.abort() });
    expect(await catchError(over)).toMatchObject({ name: "AbortError" });
    expect(polledAt).toEqual([]);
  });

  test("leaving the loop ends the polling, and leaves no timer", async () => {
    const { client, gateway, polledAt } = pollSteps(running("1%"));
    for await (const task of watchVideoTask(client, handle)) {
      expect(task.state).toBe("running");
      break;
    }
    expect(gateway.sleeping()).toBe(0);
    await gateway.advance(600_000);
    expect(polledAt).toEqual([0]);
  });

  test("a task past its retention time expires after 30 seconds of 404, with its handle", async () => {
    const { client, track, advance } = pollSteps(refusal(404));
    const old = { ...handle, queryableUntil: 1 };
    const failed = track(catchError(watchVideoTask(client, old).result()));
    await advance(60_000);
    expect(await failed).toMatchObject({
      name: "TaskError",
      reason: "expired",
      handle: old,
      cause: { status: 404 },
    });
    expect(await catchError(getVideoTask(client, old))).toMatchObject({
      name: "TaskError",
      reason: "expired",
    });
  });

  test("a known task expires at its first 404 after its retention time", async () => {
    const { client, polledAt } = pollSteps(refusal(404));
    const old = { ...handle, queryableUntil: 1 };
    const failed = watchVideoTask(client, old, { seenBefore: true }).result();
    expect(await catchError(failed)).toMatchObject({ name: "TaskError", reason: "expired", handle: old });
    expect(polledAt).toHaveLength(1);
  });

  test("a clock that is a day ahead does not expire a new task", async () => {
    const { client, track, advance } = pollSteps(refusal(404), refusal(404), success);
    const made = { ...handle, queryableUntil: Date.now() - 1000 };
    const finished = track(watchVideoTask(client, made).result());
    await advance(60_000);
    expect(await finished).toMatchObject({ state: "succeeded" });
  });

  test("a Retry-After beyond the deadline is in the error of the deadline", async () => {
    const { polledAt, over, minutes } = watchSteps([refusal(429, { "retry-after": "86400" })]);
    await minutes(31);
    const error = await catchError(over);
    expect(error).toMatchObject({ name: "TimeoutError", phase: "deadline", handle, cause: { status: 429 } });
    expect((error as Error).message).toMatch(/watch it again .*Retry-After: 86400 s.*refused with 429/);
    expect(polledAt).toHaveLength(3);
  });

  test("the JSON of an error has the handle, but no signature", async () => {
    const failed = () => respond({ status: "FAILURE", fail_reason: "policy", result_url: video });
    const { client } = pollSteps(failed);
    const json = JSON.stringify(await catchError(watchVideoTask(client, handle).result()));
    expect(JSON.parse(json)).toMatchObject({ name: "TaskError", handle, task: { state: "failed" } });
    expect(json).not.toContain("sig=1");
  });
});
