import type { ProxyPlugin } from "@sluice/worker-proxy";
import type { Transaction } from "@sluice/worker-proxy/plugin";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { addResultHandler, type TaskResult } from "../src/shared/result-handlers.js";
import type { EndContext, EndedTask } from "../src/videos/ends.js";
import { videoWatch } from "../src/videos/video-watch.js";
import { webhook } from "../src/webhooks/webhook.js";
import { createDeadLetterOperations } from "./support/dead-letters.js";
import {
  advance,
  DAY,
  done,
  HOUR,
  jump,
  MINUTE,
  openWatchedProxy,
  SECOND,
  START,
  settle,
  stopClock,
  task,
  until,
} from "./support/watched.js";

stopClock();

const SECRET = `whsec_${btoa("a secret of the app, 32 and more")}`;
const NEW_SECRET = `whsec_${btoa("its next secret, of 24 and more")}`;
let log = vi.spyOn(console, "error");
const listLines = () => log.mock.calls.flat().join("\n");
beforeEach(() => {
  log = vi.spyOn(console, "error").mockImplementation(() => {});
});

interface Sent {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly request: Request;
}

/** Opens a proxy that sends webhooks to an app. */
function openNotifyingProxy({ secret = () => SECRET as string | string[], handlers = [] as never[] } = {}) {
  const app = { next: (() => new Response(null, { status: 204 })) as () => Response | Promise<Response> };
  const sent: Sent[] = [];
  const hook = webhook<Readonly<Record<string, string>>>({
    url: "https://app.example/hook",
    secret,
    async fetch(request) {
      const body = await request.text();
      const id = request.headers.get("webhook-id") ?? "";
      sent.push({ ...(JSON.parse(body) as Pick<Sent, "type" | "data">), id, body, request });
      return await app.next();
    },
  });
  const proxy = openWatchedProxy({ onEnd: [hook, ...handlers] });
  const of = (job: string) => proxy.events.filter((event) => event.job === job);
  const { listDeadLetters, list, resend } = createDeadLetterOperations([proxy.plugin], proxy.env);
  return { ...proxy, app, sent, of, listDeadLetters, list, resend };
}

/** A task whose webhook was given up. */
async function giveUp(status = 503) {
  const proxy = openNotifyingProxy();
  proxy.app.next = () => new Response(null, { status });
  proxy.gateway.next = done;
  const created = await proxy.create();
  await until(() => proxy.of("webhook").length === 1);
  while (proxy.of("webhook").at(-1)?.outcome === "retrying") await jump(HOUR);
  await advance(2 * SECOND);
  proxy.app.next = () => new Response(null, { status: 204 });
  return { ...proxy, created };
}

describe("a webhook", () => {
  test("is signed, sent once, and follows no redirect; its events have the ids of the task (case 129)", async () => {
    const { create, gateway, sent, events } = openNotifyingProxy();
    const { id, gatewayId, receipt } = await create();
    await until(() => events.length === 0 && Date.now() > START + 6 * SECOND);
    gateway.next = done;
    await until(() => events.length === 2);
    await jump(DAY);
    expect(sent).toHaveLength(1);
    const [{ request, body, type, data } = {} as Sent] = sent;
    expect(request).toMatchObject({ method: "POST", url: "https://app.example/hook", redirect: "manual" });
    vi.setSystemTime(Number(request.headers.get("webhook-timestamp")) * SECOND);
    expect(new Webhook(SECRET).verify(body, Object.fromEntries(request.headers))).toBeDefined();
    expect(() => new Webhook(NEW_SECRET).verify(body, Object.fromEntries(request.headers))).toThrow();
    expect([type, data]).toEqual([
      "video.succeeded",
      {
        ...{ id, user: "ann", model: "beta3.0-video", state: "succeeded" },
        task: expect.objectContaining({ data: expect.objectContaining({ status: "SUCCESS" }) }),
      },
    ]);
    const requestId = receipt.headers.get("x-request-id");
    const ids = { userId: "ann", taskId: gatewayId, requestId, model: "beta3.0-video", outcome: "complete" };
    expect(events).toMatchObject([
      { job: "watch", id: gatewayId, attempts: 2, ...ids },
      { job: "webhook", upstreamStatus: 204, attempts: 1, ...ids },
    ]);
    expect(log).not.toHaveBeenCalled();
  });

  test("is signed by the old secret and the new one while they are changed", async () => {
    const { create, gateway, sent } = openNotifyingProxy({ secret: () => [NEW_SECRET, SECRET] });
    await create();
    gateway.next = done;
    await until(() => sent.length === 1);
    const [{ request, body } = {} as Sent] = sent;
    vi.setSystemTime(Number(request.headers.get("webhook-timestamp")) * SECOND);
    for (const secret of [SECRET, NEW_SECRET])
      expect(new Webhook(secret).verify(body, Object.fromEntries(request.headers))).toBeDefined();
  });

  test("reports that the user has removed the task (case 129)", async () => {
    const { create, gateway, sent, send, of } = openNotifyingProxy();
    const { path } = await create();
    expect((await send(`${path}/events`, "ann", { method: "DELETE" })).status).toBe(204);
    gateway.next = done;
    await until(() => sent.length === 1);
    expect(sent[0]?.data).toMatchObject({ removed: true });
    expect(of("watch")).toMatchObject([{ outcome: "stopped", code: "task_succeeded" }]);
  });

  test("reports an end after an unknown end with another id, and the same end once (cases 91 and 129)", async () => {
    const { create, gateway, sent } = openNotifyingProxy();
    const { poll } = await create();
    await advance(6 * SECOND);
    await jump(DAY);
    for (let times = 0; times < 3; times += 1) {
      await jump(2 * MINUTE);
      await poll();
    }
    expect(sent.map(({ type }) => type)).toEqual(["video.unknown"]);
    gateway.next = done;
    await jump(2 * MINUTE);
    await poll();
    await advance(2 * SECOND);
    expect(sent.map(({ type }) => type)).toEqual(["video.unknown", "video.succeeded"]);
    expect(sent[0]?.id).not.toBe(sent[1]?.id);
  });

  test("is not tried again for an unknown end after the task has succeeded", async () => {
    const { create, gateway, app, sent } = openNotifyingProxy();
    const { poll } = await create();
    app.next = () => new Response(null, { status: 500 });
    await advance(6 * SECOND);
    await jump(DAY);
    await jump(2 * MINUTE);
    gateway.next = done;
    await poll();
    app.next = () => new Response(null, { status: 204 });
    const before = sent.length;
    await jump(HOUR);
    await jump(HOUR);
    expect(sent.slice(before).map(({ type }) => type)).toEqual(["video.succeeded"]);
  });

  test("a failing webhook is sent nine times in 32 hours, and each event names the next attempt (case 126)", async () => {
    const { of, sent, created } = await giveUp();
    expect(of("webhook").map(({ outcome, attempts }) => [outcome, attempts])).toEqual([
      ...Array.from({ length: 8 }, (_, index) => ["retrying", index + 1]),
      ["error", 9],
    ]);
    const pauses = of("webhook")
      .slice(0, 8)
      .map(({ nextAt = 0 }, nth) => {
        const header = sent[nth]?.request.headers.get("webhook-timestamp");
        return Math.round((nextAt / SECOND - Number(header)) / 60);
      });
    expect(pauses).toEqual([0, 1, 5, 30, 120, 300, 600, 840]);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(listLines().match(/attempt \d of 9/g)).toHaveLength(8);
    expect(listLines().match(/it is given up/g)).toHaveLength(1);
    expect(listLines()).toContain("DeliveryError: the app responded with 503");
    expect(listLines()).toContain(`task ${created.gatewayId}`);
    expect(listLines()).not.toContain(SECRET);
  });

  test("a replay, and a webhook with another id or body, fail the signature check (case 82)", async () => {
    const { create, gateway, sent } = openNotifyingProxy();
    await create();
    gateway.next = done;
    await until(() => sent.length === 1);
    const [{ request, body } = {} as Sent] = sent;
    const headers = Object.fromEntries(request.headers);
    vi.setSystemTime(Number(headers["webhook-timestamp"]) * SECOND);
    const verifier = new Webhook(SECRET);
    expect(verifier.verify(body, headers)).toBeDefined();
    const later = String(Number(headers["webhook-timestamp"]) - 600);
    for (const change of [{ "webhook-timestamp": later }, { "webhook-id": "msg_other" }])
      expect(() => verifier.verify(body, { ...headers, ...change })).toThrow();
    expect(() => verifier.verify(body.replace("succeeded", "failed"), headers)).toThrow();
  });

  test("a secret in the app's refusal is not in the log (case 83)", async () => {
    const { create, gateway, app, of } = openNotifyingProxy();
    app.next = () => new Response(SECRET, { status: 500, headers: { "x-secret": SECRET } });
    await create();
    gateway.next = done;
    await until(() => of("webhook").length === 1);
    expect(listLines()).toContain("the app responded with 500");
    expect(listLines() + JSON.stringify(of("webhook"))).not.toContain(SECRET.slice(6));
  });

  test("a repeated webhook says that its task was removed meanwhile (case 129)", async () => {
    const { create, gateway, app, sent, send } = openNotifyingProxy();
    app.next = () => new Response(null, { status: 500 });
    const { path } = await create();
    gateway.next = done;
    await until(() => sent.length === 1);
    await send(`${path}/events`, "ann", { method: "DELETE" });
    await until(() => sent.length === 2);
    expect(sent.map(({ data }) => data["removed"])).toEqual([undefined, true]);
    expect(sent[0]?.id).toBe(sent[1]?.id);
  });

  test("is tried again later if the app does not respond within 15 seconds", async () => {
    const { create, gateway, app, of } = openNotifyingProxy();
    await create();
    gateway.next = done;
    app.next = () => new Promise(() => {});
    await until(() => of("watch").length === 1);
    const endedAt = Date.now();
    // the platform's fetch ends with its signal, and this one does not
    await until(() => of("webhook").length === 1);
    expect(of("webhook")).toMatchObject([{ outcome: "retrying", attempts: 1 }]);
    expect(Date.now() - endedAt).toBeLessThan(20 * SECOND);
  });
});

test("an operation whose commit is repeated changes nothing: one watch, one event and one webhook for each end", async () => {
  const { create, gateway, app, sent, events, listDeadLetters, resend, plugin, of } = openNotifyingProxy();
  for (const operation of plugin.storage?.operations ?? []) {
    const run = operation.run as (...given: unknown[]) => Promise<unknown>;
    const runTwice = async (...given: unknown[]) => {
      await run(...given);
      return await run(...given);
    };
    if (operation.kind === "write") vi.spyOn(operation, "run").mockImplementation(runTwice);
  }
  const { listen } = await create();
  const tab = await listen();
  const received: unknown[] = [];
  const read = (async () => {
    for (let event = await tab.nextEvent(); !event.stopped; event = await tab.nextEvent())
      received.push(event.data.data?.status ?? event.data.status ?? event.event);
  })();
  app.next = () => new Response(null, { status: 503 });
  await until(() => events.length > 0 || Date.now() > START + 7 * SECOND);
  gateway.next = done;
  await until(() => of("webhook").length === 1);
  app.next = () => new Response(null, { status: 410 });
  await until(() => of("webhook").length === 2);
  await advance(2 * SECOND);
  await until(() => received.includes("end"));
  const [deadLetter] = await listDeadLetters();
  app.next = () => new Response(null, { status: 204 });
  expect(await resend(deadLetter?.id ?? "")).toBe(true);
  await until(() => of("webhook").length === 3);
  await jump(DAY);
  expect(sent).toHaveLength(3);
  expect(events.map(({ job, outcome, attempts }) => [job, outcome, attempts])).toEqual([
    ["watch", "complete", 2],
    ["webhook", "retrying", 1],
    ["webhook", "refused", 2],
    ["webhook", "complete", 1],
  ]);
  await read;
  expect(received).toEqual(["queued", "QUEUED", "SUCCESS", "end"]);
});

describe("a dead letter (case 127)", () => {
  test("is listed with its cause, and is sent again with the same id", async () => {
    const { listDeadLetters, resend, sent, of, created } = await giveUp();
    const [deadLetter] = await listDeadLetters();
    expect(deadLetter).toEqual({
      id: expect.stringMatching(/^[\da-f]{32}:webhook$/),
      ...{ handler: "webhook", userId: "ann", taskId: created.gatewayId, model: "beta3.0-video" },
      requestId: created.receipt.headers.get("x-request-id"),
      ...{ attempts: 9, upstreamStatus: 503, cause: "the app responded with 503" },
      failedAt: expect.any(Number),
    });
    expect(await resend(deadLetter?.id ?? "")).toBe(true);
    expect(await listDeadLetters()).toEqual([]);
    await advance(2 * SECOND);
    expect(new Set(sent.map(({ id }) => id)).size).toBe(1);
    expect(of("webhook").at(-1)).toMatchObject({ outcome: "complete", attempts: 1 });
    expect(await resend(deadLetter?.id ?? "")).toBe(false);
    expect(await resend("none")).toBe(false);
  });

  test("comes back to the list if the app fails again, as one entry", async () => {
    const { app, listDeadLetters, resend, of } = await giveUp();
    const [deadLetter] = await listDeadLetters();
    app.next = () => new Response(null, { status: 410 });
    await resend(deadLetter?.id ?? "");
    await until(() => of("webhook").at(-1)?.outcome === "refused");
    await advance(SECOND);
    expect(await listDeadLetters()).toMatchObject([{ id: deadLetter?.id, upstreamStatus: 410, attempts: 1 }]);
  });

  test("is stored at once after a 410, which may be a mistake of the app's host", async () => {
    const { of, listDeadLetters } = await giveUp(410);
    await advance(SECOND);
    expect(of("webhook")).toMatchObject([{ outcome: "refused", attempts: 1, upstreamStatus: 410 }]);
    expect(await listDeadLetters()).toHaveLength(1);
  });

  test("is listed though the database of the list fails at first", async () => {
    const { create, gateway, app, listDeadLetters, plugin, of } = openNotifyingProxy();
    app.next = () => new Response(null, { status: 410 });
    const add = plugin.storage?.operations.find(({ name }) => name === "deadLetters.add");
    const run = vi
      .spyOn(add as unknown as { run(): Promise<unknown> }, "run")
      .mockRejectedValueOnce(new Error("gone"));
    await create();
    gateway.next = done;
    await until(() => of("webhook").length === 1);
    await jump(MINUTE);
    expect(await listDeadLetters()).toHaveLength(1);
    expect(run).toHaveBeenCalledTimes(2);
    run.mockRestore();
  });

  test("is created if the process ends at each attempt of a delivery, and can be sent again", async () => {
    const { create, gateway, app, cutAttempts, listDeadLetters, resend, of, sent } = openNotifyingProxy();
    app.next = () => new Response(null, { status: 503 });
    gateway.next = done;
    await create();
    await until(() => of("webhook").length === 1);
    while (of("webhook").at(-1)?.outcome === "retrying") {
      await cutAttempts("videos.deliver", 3);
      await jump(HOUR);
    }
    await advance(2 * SECOND);
    expect(listLines()).toContain(
      "job videos.deliver, attempt 4: Error: its last 3 attempts ended their process, or lost the database",
    );
    const [deadLetter] = await listDeadLetters();
    expect(deadLetter).toMatchObject({ attempts: 9, cause: expect.stringContaining("the process ended") });
    expect(sent).toHaveLength(1);
    app.next = () => new Response(null, { status: 204 });
    expect(await resend(deadLetter?.id ?? "")).toBe(true);
    await until(() => of("webhook").at(-1)?.outcome === "complete");
  });

  test("is removed if it is the oldest of 10,000, and an event reports it", async () => {
    const { plugin, create, gateway, app, listDeadLetters, of } = openNotifyingProxy();
    app.next = () => new Response(null, { status: 410 });
    gateway.next = done;
    await create();
    await until(() => of("webhook").length === 1);
    while ((await listDeadLetters()).length === 0) await advance(SECOND);
    // as if 9,999 more had been listed: the next one is one too many
    const add = plugin.storage?.operations.find(({ name }) => name === "deadLetters.add");
    const { run } = add as unknown as { run(transaction: Transaction, input: never): Promise<unknown> };
    vi.spyOn(add as unknown as { run: typeof run }, "run").mockImplementationOnce(
      async (transaction, input) => {
        const { key } = transaction;
        const values = `'other', 'user:zed', 10000, 0, '{"userId":"zed"}'`;
        await transaction.query(`INSERT INTO dead_letters VALUES (?, ${values})`, key);
        return await run(transaction, input);
      },
    );
    await create("bob");
    await until(() => of("webhook").length === 3);
    expect(of("webhook").at(-1)).toMatchObject({
      outcome: "dropped",
      code: "dead_letters_full",
      userId: "ann",
    });
    expect(await listDeadLetters()).toMatchObject([{ userId: "zed" }, { userId: "bob" }]);
  });

  test("can be sent again for 7 days, and is then deleted with its task", async () => {
    const { env, listDeadLetters, resend, plugin, of } = await giveUp();
    await jump(6 * DAY);
    const [deadLetter] = await listDeadLetters();
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [{}] });
    await jump(DAY);
    await jump(HOUR);
    expect(await listDeadLetters()).toEqual([]);
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
    expect(await resend(deadLetter?.id ?? "")).toBe(false);
    expect(of("webhook")).toHaveLength(9);
  });

  test("is one of many: an operator lists them in pages, the oldest first, and sends one again", async () => {
    const { create, gateway, app, listDeadLetters, list, resend, of, sent } = openNotifyingProxy();
    gateway.next = done;
    app.next = () => new Response(null, { status: 410 });
    for (let count = 0; count < 130; count += 1) await create(`user-${count}`);
    await until(() => of("webhook").length === 130);
    await advance(5 * SECOND);
    const first = await list();
    expect(first.deadLetters).toHaveLength(100);
    const second = await list(first.cursor);
    expect(second).toMatchObject({ deadLetters: expect.any(Array) });
    expect(second.cursor).toBeUndefined();
    const all = [...first.deadLetters, ...second.deadLetters];
    expect(new Set(all.map(({ userId }) => userId)).size).toBe(130);
    const times = all.map(({ failedAt }) => failedAt);
    expect(times).toEqual(times.toSorted());

    app.next = () => new Response(null, { status: 204 });
    expect(await resend(all[7]?.id ?? "none")).toBe(true);
    await until(() => sent.length === 131);
    expect(sent.at(-1)?.data["user"]).toBe(all[7]?.userId);
    await expect(resend("")).rejects.toThrow("id: give a text");
    await expect(list("none")).rejects.toThrow("cursor: give the cursor of a list");
    expect(await listDeadLetters()).toHaveLength(100);
  });

  test("erasing the user removes it (case 131)", async () => {
    const { plugin, env, listDeadLetters } = await giveUp(410);
    await advance(SECOND);
    expect(await listDeadLetters()).toHaveLength(1);
    await plugin.userData?.eraseUser(env, "ann");
    expect(await listDeadLetters()).toEqual([]);
  });
});

describe("a handler of the app", () => {
  test("gets the end and its env, and its failure is reported with the cause and does not stop other handlers (case 129)", async () => {
    const ends: EndedTask[] = [];
    const contexts: EndContext[] = [];
    let isBroken = true;
    const sendMail = async (ended: EndedTask, context: EndContext) => {
      ends.push(ended);
      contexts.push(context);
      if (isBroken) throw new Error("no mail today", { cause: new TypeError("the socket was closed") });
    };
    const { create, gateway, sent, events } = openNotifyingProxy({ handlers: [sendMail] as never[] });
    const { id, gatewayId } = await create();
    gateway.next = () => task("FAILURE", { fail_reason: "policy" });
    await until(() => ends.length === 1);
    expect(ends[0]).toMatchObject({
      taskId: id,
      gatewayId,
      userId: "ann",
      state: "failed",
      isRemoved: false,
    });
    expect(contexts[0]).toMatchObject({ attempt: 1, env: {}, signal: expect.any(AbortSignal) });
    await advance(SECOND);
    expect(listLines()).toContain("sendMail, attempt 1 of 9");
    expect(listLines()).toContain("Error: no mail today");
    expect(listLines()).toContain("TypeError: the socket was closed");
    isBroken = false;
    await jump(MINUTE);
    expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(sent.map(({ type }) => type)).toEqual(["video.failed"]);
    await jump(DAY);
    expect([ends.length, sent.length]).toEqual([2, 1]);
    // a handler without a job has no events
    expect(events.map(({ job, outcome }) => [job, outcome])).toEqual([
      ["watch", "error"],
      ["webhook", "complete"],
    ]);
  });

  test("a handler that always throws becomes a dead letter with its cause (case 129)", async () => {
    const handleEnd = () => Promise.reject(new Error("a mistake of the app"));
    const { create, gateway, listDeadLetters, of } = openNotifyingProxy({ handlers: [handleEnd] as never[] });
    await create();
    gateway.next = done;
    await until(() => of("watch").length === 1);
    for (let hour = 0; hour < 36; hour += 1) await jump(HOUR);
    expect(await listDeadLetters()).toMatchObject([
      { handler: "handleEnd", attempts: 9, cause: "Error: a mistake of the app" },
    ]);
    expect(of("watch")).toMatchObject([{ outcome: "complete" }]);
  });

  test("is aborted after ten minutes if it hangs, and runs again", async () => {
    const signals: AbortSignal[] = [];
    const hang = (_: EndedTask, { signal }: EndContext) => {
      signals.push(signal);
      return signals.length === 1 ? new Promise<void>(() => {}) : Promise.resolve();
    };
    const { create, gateway, events } = openNotifyingProxy({ handlers: [hang] as never[] });
    await create();
    gateway.next = done;
    await until(() => signals.length === 1);
    await until(() => signals[0]?.aborted === true);
    await until(() => signals.length === 2);
    expect(listLines()).toContain("no response in 600000 ms");
    expect(events.some(({ outcome }) => outcome === "dropped")).toBe(false);
  });

  test("is aborted when its user is erased, and writes nothing afterwards (case 131)", async () => {
    const { create, gateway, app, plugin, env, of, listDeadLetters } = openNotifyingProxy();
    await create();
    gateway.next = done;
    let respond = (_: Response) => {};
    app.next = () =>
      new Promise((resolve) => {
        respond = resolve;
      });
    await until(() => of("watch").length === 1);
    await advance(SECOND);
    await plugin.userData?.eraseUser(env, "ann");
    await settle();
    respond(new Response(null, { status: 500 }));
    await advance(SECOND);
    expect(of("webhook")).toMatchObject([{ outcome: "dropped", code: "user_erased" }]);
    expect(of("watch").at(-1)).toMatchObject({ outcome: "stopped", code: "user_erased" });
    expect(await plugin.userData?.exportUser(env, "ann")).toMatchObject({ items: [] });
    await jump(2 * DAY);
    expect(await listDeadLetters()).toEqual([]);
    expect(of("webhook")).toHaveLength(1);
  });
});

test("a plugin that copies results gets each end before it is stored, and again if the plugin fails", async () => {
  const ended: TaskResult<unknown>[] = [];
  const files = definePlugin<ProxyPlugin<Readonly<Record<string, string>>>>({});
  addResultHandler(files, async (result) => {
    ended.push(result);
    if (ended.length === 1) throw new Error("the database is gone");
  });
  const watch = videoWatch<Readonly<Record<string, string>>>();
  const { create, gateway, events } = openWatchedProxy({}, { plugins: [watch, files] });
  const { gatewayId } = await create();
  gateway.next = done;
  await until(() => ended.length === 2);
  await advance(SECOND);
  expect(ended[1]).toMatchObject({ id: gatewayId, userId: "ann", response: { code: "success" } });
  expect(events).toMatchObject([{ job: "watch", outcome: "complete" }]);
  await jump(HOUR);
  expect(ended).toHaveLength(2);
});

describe("the options of a webhook", () => {
  test.each([
    [{}, "webhook: url: give a URL"],
    [{ url: "http://app.example/hook" }, "webhook: url: must be https"],
    [{ url: "https://ann:word@app.example/hook" }, "webhook: url: must be https, without a name"],
    [{ url: "https://app.example/hook" }, "webhook: secret: give a function"],
  ])("%j are refused at once", (options, message) => {
    expect(() => webhook(options as never)).toThrow(message);
  });

  test("fail the health check if a variable is wrong, and the log does not contain its value", async () => {
    const { send } = openNotifyingProxy({ secret: () => "whsec_short" });
    const response = await send("/health", "ann");
    expect(response.status).toBe(503);
    expect(listLines()).toContain("webhook: secret: give whsec_ and 24 to 64 random bytes in Base64");
    expect(listLines()).not.toContain("whsec_short");
  });

  test("can be corrected after the end of a task, and the webhook is sent then", async () => {
    let secret: string | string[] = [];
    const { create, gateway, of, sent } = openNotifyingProxy({ secret: () => secret });
    await create();
    gateway.next = done;
    await until(() => of("webhook").length === 1);
    expect(of("webhook")).toMatchObject([{ outcome: "retrying" }]);
    expect(listLines()).toContain("the url or the secret of the webhook is missing or invalid");
    secret = SECRET;
    await until(() => sent.length === 1);
  });

  test("two webhooks can be used together", () => {
    const options = { url: "https://app.example/hook", secret: () => SECRET };
    expect(() => videoWatch({ onEnd: [webhook(options), webhook(options)] })).not.toThrow();
  });
});
