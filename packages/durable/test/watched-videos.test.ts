import { createClient, createVideoTask, watchVideoTask } from "@sluice/core";
import type { ProxyPlugin } from "@sluice/worker-proxy";
import type { Transaction } from "@sluice/worker-proxy/plugin";
import { definePlugin, operation } from "@sluice/worker-proxy/plugin";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { KEY, read } from "../../worker-proxy/test/support/key.js";
import { createUserKey } from "../src/host/user-key.js";
import { videoWatch } from "../src/videos/video-watch.js";
import {
  advance,
  advanceUntil,
  DAY,
  done,
  HOUR,
  jump,
  MINUTE,
  openWatchedProxy,
  refusal,
  SECOND,
  START,
  settle,
  stopClock,
  task,
  until,
} from "./support/watched.js";

expectLog("videoWatch: 50", "ends without a known result", "504 watch_timeout");
stopClock();

describe("pages that listen", () => {
  test("two tabs cost one poll, and both get each change once", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    const { listen, id } = await create();
    await until(() => polls.length === 1);
    const [one, two] = [await listen(), await listen()];
    const first = await one.nextEvent();
    expect(first).toMatchObject({ event: "task", data: { data: { status: "QUEUED" } } });
    expect(await two.nextEvent()).toEqual(first);
    gateway.next = () => task("IN_PROGRESS", { task_id: "t-1", progress: "10%" });
    await until(() => polls.length === 2);
    expect(await one.nextEvent()).toMatchObject({
      id: `${Number(first.id) + 1}`,
      event: "task",
      data: { data: { task_id: id, status: "IN_PROGRESS" } },
    });
    expect(await two.nextEvent()).toMatchObject({ data: { data: { status: "IN_PROGRESS" } } });
    gateway.next = done;
    await until(() => polls.length === 3);
    expect((await one.nextEvent()).data.data.status).toBe("SUCCESS");
    expect(await one.nextEvent()).toEqual({ event: "end", data: {} });
    expect(await one.nextEvent()).toEqual({ stopped: "closed" });
  });

  test("a poll follows no redirect with the key", async () => {
    const { create, gateway, requests, events } = openWatchedProxy();
    await create();
    gateway.next = () => new Response(null, { status: 307, headers: { location: "https://evil.example" } });
    await until(() => requests.length === 2);
    expect(requests.at(-1)).toMatchObject({
      url: "https://gateway.example/v1/video/generations/t-1",
      redirect: "manual",
    });
    expect(requests.at(-1)?.headers.get("authorization")).toBe(`Bearer ${KEY}`);
    expect(events).toEqual([]);
  });

  test("no event comes if only a trace id changed", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    const tab = await (await create()).listen();
    expect((await tab.nextEvent()).data.status).toBe("queued");
    gateway.next = () => task("QUEUED", { request_id: "r-1" });
    await until(() => polls.length === 1);
    expect((await tab.nextEvent()).data.data.status).toBe("QUEUED");
    const next = tab.nextEvent();
    gateway.next = () => task("QUEUED", { request_id: "r-2" });
    await until(() => polls.length === 2);
    gateway.next = () => task("IN_PROGRESS", { request_id: "r-3" });
    await until(() => polls.length === 3);
    expect((await next).data.data.status).toBe("IN_PROGRESS");
  });

  test("a task is polled at the interval while it is young, and once a minute when it is old", async () => {
    const { create, polls } = openWatchedProxy();
    await create();
    await until(() => polls.length === 5);
    // in seconds
    const readPauses = () => polls.slice(1).map((at, nth) => at - (polls[nth] ?? 0));
    for (const pause of readPauses()) {
      expect(pause).toBeGreaterThanOrEqual(15);
      expect(pause).toBeLessThan(25);
    }
    await until(() => Date.now() >= START + 30 * MINUTE, 10 * SECOND);
    for (const pause of readPauses().slice(-3)) expect(pause).toBeGreaterThanOrEqual(60);
  });

  test("a page that reconnects gets no event twice, and a new page gets the newest state at once", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    const { listen } = await create();
    await until(() => polls.length === 1);
    const first = await listen();
    const { id } = await first.nextEvent();
    const [back, anew] = [await listen({ lastEventId: `${id}` }), await listen()];
    expect(await anew.nextEvent()).toMatchObject({ id });
    gateway.next = done;
    await until(() => polls.length === 2);
    expect(await back.nextEvent()).toMatchObject({ id: `${Number(id) + 1}` });
    expect(await back.nextEvent()).toEqual({ event: "end", data: {} });
    const late = await listen({ lastEventId: `${Number(id) + 1}` });
    expect(await late.nextEvent()).toEqual({ event: "end", data: {} });
    expect(polls).toHaveLength(2);
  });

  test("a comment keeps idle streams open", async () => {
    const { create } = openWatchedProxy();
    const tab = await (await create()).listen();
    expect(await tab.next()).toEqual({ comment: true });
    expect((await tab.next()).event).toBe("task");
    await advance(6 * SECOND);
    expect((await tab.next()).event).toBe("task");
    await advance(25 * SECOND);
    expect(await tab.next()).toEqual({ comment: true });
  });

  test("refuses the seventeenth tab of a task with 429 until another tab leaves", async () => {
    const { create } = openWatchedProxy();
    const { follow, listen } = await create();
    const leaving = new AbortController();
    const tabs = [await listen({ signal: leaving.signal })];
    for (let count = 1; count < 16; count += 1) tabs.push(await listen());
    const refused = await read(await follow());
    expect([refused.status, refused.headers.get("retry-after"), refused.error?.["code"]]).toEqual([
      ...[429, "60", "too_many_readers"],
    ]);
    leaving.abort();
    await advance(26 * SECOND);
    expect((await follow()).status).toBe(200);
  });

  test("a user has up to 64 streams, and visitors of a public proxy do not share this limit", async () => {
    for (const isPublic of [false, true]) {
      const { create } = openWatchedProxy({}, isPublic ? { authenticate: "public" } : {});
      const statuses: number[] = [];
      for (let tasks = 0; tasks < 5; tasks += 1) {
        const { follow } = await create();
        for (let tabs = 0; tabs < 13; tabs += 1) statuses.push((await follow()).status);
      }
      // 5 tasks with 13 tabs are 65 streams
      expect(statuses.filter((status) => status === 429)).toHaveLength(isPublic ? 0 : 1);
    }
  });

  test("a tab that reads nothing frees its slot, and the other tabs continue", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    const { listen, follow } = await create();
    let sent = 0;
    gateway.next = () => task("IN_PROGRESS", { prompt: "x".repeat(200_000), progress: `${++sent}%` });
    const quick = await listen();
    await quick.nextEvent();
    const slow: Response[] = [];
    for (let count = 1; count < 16; count += 1) slow.push(await follow());
    const received: string[] = [];
    while (received.length < 10) {
      const before = polls.length;
      await until(() => polls.length > before);
      received.push((await quick.nextEvent()).data.data.progress);
    }
    expect(received).toEqual(Array.from({ length: 10 }, (_, index) => `${index + 1}%`));
    expect((await follow()).status).toBe(200);
  });

  test("a change costs the same reads for sixteen tabs as for one", async () => {
    const { create, gateway, polls, plugin } = openWatchedProxy({ intervalMs: 2 * SECOND });
    const runs = vi.fn();
    for (const operation of plugin.storage?.operations ?? []) {
      const { name, run } = operation;
      Object.assign(operation, {
        run: (...given: never[]) => [runs(name), run(...(given as [never, never]))][1],
      });
    }
    const reads = () => runs.mock.calls.flat().filter((name) => name === "videos.readChanges").length;
    const costs: number[] = [];
    const { listen } = await create();
    const tabs = [await listen()];
    await until(() => polls.length > 0);
    await advance(SECOND);
    for (const status of ["IN_PROGRESS", "REVIEW"]) {
      gateway.next = () => task(status);
      runs.mockClear();
      await until(() => reads() > 0);
      await settle();
      costs.push(reads());
      while (tabs.length < 16) tabs.push(await listen());
    }
    for (const tab of tabs.slice(1)) {
      expect((await tab.nextEvent()).data.data.status).toBe("IN_PROGRESS");
      expect((await tab.nextEvent()).data.data.status).toBe("REVIEW");
    }
    expect(costs).toEqual([1, 1]);
  });

  test("get no stream where the platform could not notice that tabs close", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    vi.stubGlobal("Cloudflare", { compatibilityFlags: { enable_request_signal: false } });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { create } = openWatchedProxy();
    const refused = await read(await (await create()).follow());
    expect(refused.status).toBe(500);
    expect(refused.text).not.toContain("enable_request_signal");
    expect(log.mock.calls.flat().join()).toContain("enable_request_signal");
  });
});

describe("the end of a watch", () => {
  test.each(["SUCCESS", "FAILURE", "success", "Cancelled"])("comes with %s", async (status) => {
    const { create, gateway, polls } = openWatchedProxy();
    gateway.next = () => task(status, { result_url: "https://cdn.example/v.mp4" });
    const { listen } = await create();
    await until(() => polls.length === 1);
    const tab = await listen();
    expect(await tab.nextEvent()).toMatchObject({ event: "task" });
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
    expect(await tab.nextEvent()).toEqual({ stopped: "closed" });
  });

  test("does not come with 100 %, a reason or an unknown state, but with the status of a task without an envelope", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    gateway.next = () => task("REVIEW", { progress: "100%", fail_reason: "https://cdn.example/v.mp4" });
    const { listen } = await create();
    await until(() => polls.length === 1);
    const tab = await listen();
    expect((await tab.nextEvent()).data.data.status).toBe("REVIEW");
    const url = "https://cdn.example/v.mp4";
    gateway.next = () => Response.json({ id: "t-1", status: "succeeded", url, data: { status: "x" } });
    await until(() => polls.length === 2);
    expect((await tab.nextEvent()).data.status).toBe("succeeded");
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
  });

  test.each([
    ["a refusal with the key", () => refusal(401, {}, `wrong key ${KEY}`)],
    ["larger than any task", () => task("QUEUED", { prompt: "x".repeat(256 * 1024) })],
    ["without a status", () => Response.json({ code: "success", data: { task_id: "t-1" } })],
    ["a failure under HTTP 200", () => Response.json({ code: "db_error", data: { status: "SUCCESS" } })],
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    [
      "an event stream",
      () => new Response("data: 1\n\n", { headers: { "content-type": "text/event-stream" } }),
    ],
    ["a task with the key", () => task("QUEUED", { prompt: KEY })],
  ])("does not come with responses that are %s, and pages never see them", async (_, respond) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, gateway, polls } = openWatchedProxy();
    gateway.next = respond;
    const { status } = await create();
    await until(() => polls.length === 4);
    expect(await status()).toBe("queued");
    gateway.next = done;
    await until(() => polls.length === 5);
    expect(await status()).toBe("SUCCESS");
    expect(JSON.stringify(log.mock.calls)).not.toContain(KEY);
  });

  test("a task that the gateway does not know is not watched", async () => {
    const { create, gateway, plugin, env, polls } = openWatchedProxy();
    const { poll, follow } = await create();
    await plugin.userData?.eraseUser(env, "ann");
    gateway.next = () => refusal(404);
    for (const response of [await poll(), await read(await follow())])
      expect(response).toMatchObject({ status: 404, error: { code: "task_not_found" } });
    expect(polls).toHaveLength(2);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
  });
});

describe("a task that is watched from its create", () => {
  test("is polled to its end without a page, and a page gets the end days later without a poll", async () => {
    const { create, gateway, polls, events } = openWatchedProxy();
    const { status, poll, listen, id, gatewayId, receipt } = await create();
    expect(polls).toEqual([]);
    await until(() => polls.length === 2);
    gateway.next = done;
    await until(() => polls.length === 3);
    const [first = 0, second = 0, third = 0] = polls;
    expect(first).toBeGreaterThanOrEqual(5);
    expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(15);
    await jump(2 * DAY);
    expect(await status()).toBe("SUCCESS");
    expect(JSON.parse((await poll()).text)).toMatchObject({ data: { task_id: id } });
    const tab = await listen();
    expect(await tab.nextEvent()).toMatchObject({ event: "task", data: { data: { status: "SUCCESS" } } });
    expect(await tab.nextEvent()).toEqual({ event: "end", data: {} });
    expect(polls).toHaveLength(3);
    const requestId = receipt.headers.get("x-request-id");
    const ids = { id: gatewayId, taskId: gatewayId, requestId, userId: "ann", model: "beta3.0-video" };
    expect(events).toMatchObject([{ job: "watch", outcome: "complete", attempts: 3, ...ids }]);
    expect(id).not.toBe(gatewayId);
  });

  test("a page that polls right after the create gets the gateway's first response without another request", async () => {
    const { create, polls } = openWatchedProxy();
    const { status, poll } = await create();
    expect(await status()).toBe("queued");
    expect((await poll()).headers.get("x-sluice-features")).toBe("video-events, video-watch");
    expect(polls).toEqual([]);
  });

  test("pages and tabs never make two polls come closer than the interval", async () => {
    const { create, polls } = openWatchedProxy();
    const { status, listen } = await create();
    const tabs: unknown[] = [];
    for (let second = 1; second <= 150; second += 1) {
      await advance(SECOND);
      if (second % 7 === 0) await status();
      if (second % 40 === 0) tabs.push(await listen());
    }
    const pauses = polls.slice(1).map((at, nth) => at - (polls[nth] ?? 0));
    expect(tabs).toHaveLength(3);
    expect(polls.length).toBeGreaterThanOrEqual(9);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(15);
  });

  test("is polled by the next query of a page if its timer was lost", async () => {
    const { create, gateway, plugin, polls } = openWatchedProxy();
    const { listen } = await create();
    await listen();
    await until(() => polls.length === 1);
    gateway.next = () => task("QUEUED");
    const apply = plugin.storage?.operations.find(({ name }) => name === "videos.applyPoll") as unknown as {
      run(transaction: Transaction, input: unknown): Promise<unknown>;
    };
    const { run } = apply;
    vi.spyOn(apply, "run").mockImplementationOnce(async (transaction, input) => {
      const output = await run(transaction, input);
      await transaction.cancel({ name: "videos.poll" }, "t-1");
      return output;
    });
    await until(() => polls.length === 2);
    await jump(2 * HOUR);
    expect(polls).toHaveLength(2);
    await listen();
    await until(() => polls.length === 3);
  });

  test("its end is deleted after the retention", async () => {
    const { create, gateway, plugin, env, polls } = openWatchedProxy({ retentionMs: HOUR });
    await create();
    gateway.next = done;
    await until(() => polls.length === 1);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [{}], cursor: undefined });
    await jump(HOUR);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
  });

  test.each([
    ["404", () => refusal(404)],
    ["400", () => refusal(400)],
    ["401", () => refusal(401)],
    ["403", () => refusal(403)],
    ["410", () => refusal(410)],
    ["500", () => refusal(500)],
    ["a page", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["another shape", () => Response.json([])],
    ["429 for a day", () => refusal(429, { "retry-after": "86400" })],
    ["no connection", () => Promise.reject(new TypeError(`no route, ${KEY}`))],
  ])("one response of %s ends no watch, and stops none for long (case 90)", async (_, respond) => {
    const { create, gateway, polls } = openWatchedProxy();
    const { status } = await create();
    await until(() => polls.length === 1);
    gateway.next = respond;
    await until(() => polls.length === 2);
    gateway.next = done;
    await until(() => polls.length === 3, 5 * SECOND);
    expect(Date.now() - START).toBeLessThan(15 * MINUTE);
    expect(await status()).toBe("SUCCESS");
  });

  test.each([
    ["an account that is empty", () => refusal(402)],
    ["responses without a task", () => Response.json(null)],
    ["an outage", () => refusal(503)],
  ])("the watch outlasts %s for an hour", async (_, respond) => {
    const { create, gateway, polls, events } = openWatchedProxy();
    const { status } = await create();
    gateway.next = respond;
    await until(() => Date.now() >= START + HOUR, 15 * SECOND);
    expect(await status()).toBe("queued");
    expect(events).toEqual([]);
    gateway.next = done;
    const before = polls.length;
    await until(() => polls.length > before, 10 * SECOND);
    expect(await status()).toBe("SUCCESS");
  });

  test.each([
    ["a page", () => new Response("<h1>404</h1>", { status: 404, headers: { "content-type": "text/html" } })],
    ["nothing", () => new Response(null, { status: 404 })],
    ["words", () => new Response("404 page not found", { status: 404 })],
  ])(
    "an hour of 404s with %s does not end a task, and its video is reported (case 157)",
    async (_, respond) => {
      const log = vi.spyOn(console, "error").mockImplementation(() => {});
      const { create, gateway, polls, events } = openWatchedProxy();
      const { status } = await create();
      await until(() => polls.length === 1);
      gateway.next = respond;
      await until(() => Date.now() >= START + HOUR, 15 * SECOND);
      // three 404s of the gateway itself are too few to end the task, and the earlier ones do not count
      gateway.next = () => refusal(404);
      const before = polls.length;
      await until(() => polls.length === before + 3, 10 * SECOND);
      expect([await status(), events]).toEqual(["QUEUED", []]);
      gateway.next = done;
      await until(() => events.length === 1, 10 * SECOND);
      expect(await status()).toBe("SUCCESS");
      expect(events).toMatchObject([{ outcome: "complete" }]);
      log.mockRestore();
    },
  );

  test("reports a failed task, and logs nothing (case 129)", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, gateway, events } = openWatchedProxy();
    const { gatewayId } = await create();
    gateway.next = () => task("FAILURE");
    await until(() => events.length === 1);
    expect(events).toMatchObject([{ outcome: "error", code: "task_failed", taskId: gatewayId }]);
    expect(log).not.toHaveBeenCalled();
  });

  test("a success without a file is polled three more times", async () => {
    const { create, gateway, polls, events } = openWatchedProxy();
    await create();
    gateway.next = () => task("SUCCESS");
    await until(() => polls.length === 3);
    expect(events).toEqual([]);
    gateway.next = done;
    await until(() => events.length === 1);
    expect(polls).toHaveLength(4);
    expect(events).toMatchObject([{ outcome: "complete" }]);
  });

  test("a task ends as lost after 24 hours, which its user can read, and continues if the user polls later (cases 91 and 129)", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, gateway, events, polls } = openWatchedProxy();
    const { poll, status, gatewayId } = await create();
    await until(() => polls.length === 1);
    await jump(DAY);
    expect(events).toMatchObject([{ outcome: "lost", code: "watch_timeout", taskId: gatewayId }]);
    expect(log.mock.calls.flat().join()).toContain(
      `task ${gatewayId} ends without a known result: watch_timeout`,
    );
    const before = polls.length;
    expect(await poll()).toMatchObject({ status: 504, error: { code: "watch_timeout" } });
    expect(polls).toHaveLength(before);
    // the same end is not reported again
    await jump(2 * MINUTE);
    await poll();
    expect(polls).toHaveLength(before + 1);
    expect(events).toHaveLength(1);
    await jump(2 * MINUTE);
    gateway.next = done;
    expect(await status()).toBe("SUCCESS");
    expect(events).toMatchObject([{ outcome: "lost" }, { outcome: "complete" }]);
  });

  test("ends as unknown after five minutes of 404 (cases 91 and 129)", async () => {
    const { create, gateway, events, polls } = openWatchedProxy();
    const { poll } = await create();
    await until(() => polls.length === 1);
    gateway.next = () => refusal(404);
    await until(() => events.length === 1, 5 * SECOND);
    expect(Date.now() - START).toBeGreaterThan(5 * MINUTE);
    expect(events).toMatchObject([{ outcome: "lost", code: "task_not_found" }]);
    expect(await poll()).toMatchObject({ status: 404, error: { code: "task_not_found" } });
  });

  test("only its user can read a task (case 34)", async () => {
    const { create, send, plugin, env } = openWatchedProxy();
    const { poll, follow, path } = await create("dan");
    expect((await poll("eve")).status).toBe(404);
    expect((await follow({ as: "eve" })).status).toBe(404);
    expect((await send(`${path}/events`, "eve", { method: "DELETE" })).status).toBe(404);
    expect(await plugin.userData?.exportUser(env, "eve")).toMatchObject({ items: [] });
  });

  test("a task that was created elsewhere is watched from the first poll of a page", async () => {
    const { create, plugin, env, polls } = openWatchedProxy();
    const { status } = await create();
    await plugin.userData?.eraseUser(env, "ann");
    expect([await status(), await status()]).toEqual(["QUEUED", "QUEUED"]);
    expect(polls).toHaveLength(1);
    await advance(16 * SECOND);
    expect(polls).toHaveLength(2);
  });

  test("a create whose watch cannot be stored gets its response, and the fault is reported", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, host, events } = openWatchedProxy();
    await host.close();
    const { receipt } = await create();
    expect([receipt.status, receipt.text]).toEqual([200, expect.stringContaining("queued")]);
    expect(log.mock.calls.flat().join()).toContain("the watch of task t-1");
    expect(events).toMatchObject([
      { job: "watch", outcome: "dropped", code: "object_unavailable", userId: "ann", taskId: "t-1" },
    ]);
  });

  test("the late response of a paused process does not replace a newer one", async () => {
    const { create, gateway, polls } = openWatchedProxy();
    const { status } = await create();
    let respond = (_: Response) => {};
    gateway.next = () =>
      new Promise((resolve) => {
        respond = resolve;
      });
    await until(() => polls.length === 1);
    gateway.next = () => task("IN_PROGRESS");
    // the process was paused during the poll: the timeout is over, but its timer has not run
    await jump(71 * SECOND);
    await until(() => polls.length === 2);
    await advance(SECOND);
    expect(await status()).toBe("IN_PROGRESS");
    respond(task("QUEUED"));
    await advance(SECOND);
    expect(await status()).toBe("IN_PROGRESS");
  });

  test("a task above the limit of watched tasks is created unwatched, and that is reported", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, events } = openWatchedProxy();
    for (let count = 0; count < 1000; count += 1) await create();
    expect(events).toEqual([]);
    const { receipt, follow, status } = await create();
    expect(receipt.status).toBe(200);
    // the proxy sends a page's polls of this task to the gateway
    expect(await status()).toBe("QUEUED");
    expect(events).toMatchObject([{ outcome: "dropped", code: "too_many_tasks" }]);
    expect(log.mock.calls.flat().join()).toContain("1000 of your tasks are watched already");
    expect(await read(await follow())).toMatchObject({ status: 429, error: { code: "too_many_tasks" } });
    expect((await create("bob")).receipt.status).toBe(200);
    expect(events).toHaveLength(1);
  });

  test("a poll that has ended its process three times is reported, and the next one follows", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const { create, gateway, polls, events, cutAttempts } = openWatchedProxy();
    await create();
    await until(() => polls.length === 1);
    await cutAttempts("videos.poll", 3);
    gateway.next = done;
    await until(() => events.length === 1);
    expect(log.mock.calls.join()).toContain(
      "job videos.poll, attempt 4: Error: its last 3 attempts ended their process, or lost the database",
    );
    expect(polls).toHaveLength(2);
    expect(events).toMatchObject([{ job: "watch", outcome: "complete" }]);
  });

  test("a watch whose polls always end their process ends after 24 hours, as any other", async () => {
    const { create, polls, events, cutAttempts } = openWatchedProxy();
    await create();
    await until(() => polls.length === 1);
    for (let hour = 0; hour < 25; hour += 1) {
      await cutAttempts("videos.poll", 1);
      await jump(HOUR);
    }
    expect(events).toMatchObject([{ job: "watch", outcome: "lost", code: "watch_timeout" }]);
    expect(polls).toHaveLength(1);
  });

  test("all visitors of a public proxy share a limit of 10,000 watched tasks", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const watch = videoWatch<Readonly<Record<string, string>>>();
    const fill = operation("test.fill", async ({ key, query }) => {
      const ids = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)";
      await query(
        `${ids} INSERT INTO video_watches (key, id, is_open, version, state)
        SELECT key, 'x' || i, 1, 1, '{}' FROM n, video_watches WHERE key = ?`,
        key,
      );
      return null;
    });
    let fillAll = async () => {};
    const filler = definePlugin<ProxyPlugin<Readonly<Record<string, string>>>>({
      storage: { tables: [], operations: [fill] },
      connect(server) {
        fillAll = async () => void (await server.host({}).run(await createUserKey("public"), fill, null));
      },
    });
    const { create, events } = openWatchedProxy({}, { authenticate: "public", plugins: [watch, filler] });
    await create();
    expect(events).toEqual([]);
    await fillAll();
    expect((await create()).receipt.status).toBe(200);
    expect(events).toMatchObject([{ outcome: "dropped", code: "too_many_tasks" }]);
  });
});

test("a client creates a task and gets its video by pushed changes, without polling again", async () => {
  const { proxy, env, gateway, polls, send } = openWatchedProxy();
  const paths: string[] = [];
  const client = createClient({
    baseURL: "https://proxy.example",
    headers: { authorization: "ann" },
    fetch: async (request) => {
      paths.push(`${request.method} ${new URL(request.url).pathname}`);
      return await proxy.fetch(request, env);
    },
  });
  const creating = createVideoTask(client, { model: "beta3.0-video", input: { prompt: "a bird" } });
  const handle = await advanceUntil(creating);
  const received: number[] = [];
  const watch = watchVideoTask(client, handle);
  const watching = (async () => {
    for await (const { progress } of watch) received.push(progress ?? 0);
  })();
  gateway.next = () => task("IN_PROGRESS", { progress: "10%" });
  // wait for the page: a change replaces an earlier change that the page has not read
  await until(() => received.includes(0.1));
  gateway.next = () => task("IN_PROGRESS", { progress: "60%" });
  await until(() => received.includes(0.6));
  gateway.next = done;
  // the number of polls until now depends on the speed of the page
  const before = polls.length;
  await until(() => polls.length > before);
  await advanceUntil(watching);
  expect((await watch.result()).url).toBe("https://cdn.example/v.mp4");
  expect(received).toEqual(expect.arrayContaining([0.1, 0.6]));
  const path = `/v1/video/generations/${handle.id}`;
  expect(paths).toEqual(["POST /v1/video/generations", `GET ${path}`, `GET ${path}/events`]);
  expect((await send(path, "ann")).status).toBe(200);
  expect(polls).toHaveLength(before + 1);
});

describe("the data of a user", () => {
  test("is exported, and erasing it ends what is running (case 131)", async () => {
    const { create, gateway, plugin, env, events, polls } = openWatchedProxy();
    const ended = await create();
    gateway.next = done;
    await until(() => polls.length === 1);
    gateway.next = () => task("QUEUED");
    const running = await create();
    const tab = await running.listen();
    await create("bob");
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({
      items: [
        { id: ended.id, gatewayId: ended.gatewayId, user: "ann", state: "succeeded" },
        { id: running.id, user: "ann", model: "beta3.0-video", task: { status: "queued" } },
      ],
    });
    events.length = 0;
    await plugin.userData?.eraseUser(env, "ann");
    await plugin.userData?.eraseUser(env, "ann");
    expect(events).toMatchObject([
      { job: "watch", taskId: running.gatewayId, outcome: "stopped", code: "user_erased" },
    ]);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
    expect(await plugin.userData?.exportUser(env, "bob")).toMatchObject({ items: [{}], cursor: undefined });
    await tab.nextEvent();
    expect(await tab.nextEvent()).toEqual({ stopped: "closed" });
    const before = polls.length;
    await advance(30 * SECOND);
    // of bob's task
    expect(polls.length - before).toBe(2);
  });

  test("is not written again by a poll in flight (case 131)", async () => {
    const { create, gateway, plugin, env, polls } = openWatchedProxy();
    await create();
    let respond = (_: Response) => {};
    gateway.next = () =>
      new Promise((resolve) => {
        respond = resolve;
      });
    await until(() => polls.length === 1);
    await plugin.userData?.eraseUser(env, "ann");
    respond(task("IN_PROGRESS"));
    await settle();
    await advance(30 * SECOND);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
    expect(polls).toHaveLength(1);
  });
});

test.each([
  [{ intervalMs: 100 }, "videoWatch: intervalMs: give a whole number from 2000 to 60000"],
  [{ retentionMs: 0 }, "videoWatch: retentionMs: give a whole number of milliseconds from 1 up"],
  [{ onEnd: {} }, "videoWatch: onEnd: give a list of functions, [webhook(…)]"],
  [{ baseURL: "https://gateway.example" }, "baseURL: is not an option of videoWatch"],
])("refuses the options %j", (options, message) => {
  expect(() => openWatchedProxy(options as never)).toThrow(message);
});
