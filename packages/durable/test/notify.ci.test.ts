import { afterEach, beforeEach, expect, test } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { headersOf, readWebhook, startNotifyingProxy } from "./support/notify.js";

let proxy: Awaited<ReturnType<typeof startNotifyingProxy>>;

beforeEach(async ({ onTestFailed }) => {
  proxy = await startNotifyingProxy({ speed: 2 });
  onTestFailed(() => console.error(proxy.logs.join("\n")));
});
afterEach(() => proxy.close());

/** Watches poll after 5 and 15 s, retries come later. A faster clock leaves too little time between two tries. */
const slow = { timeout: 300_000 };

test(
  "three tabs, a crash and an app that fails once: one push, and one webhook with one id",
  slow,
  async () => {
    const { app, push } = proxy;
    app.answers((response) => void response.writeHead(app.requests.length === 1 ? 500 : 204).end());
    const phone = push.subscribe("phone");
    expect((await proxy.subscribe(phone)).status).toBe(201);
    const { id, path } = await proxy.create();
    await Promise.all([1, 2, 3].map(() => proxy.ask(path)));
    proxy.taskIs("SUCCESS");
    await proxy.kill();
    await proxy.start();
    await expect.poll(() => app.requests.length, { timeout: 120_000 }).toBe(1);
    await expect.poll(() => push.received, { timeout: 120_000 }).toHaveLength(1);
    // a push whose end is not stored yet comes again after a crash; an answer of its object leaves after what it stored
    await expect.poll(() => proxy.logs.join("\n")).toMatch(/job .*"kind":"push".*"outcome":"complete"/);
    expect((await proxy.subscribe(phone)).status).toBe(201);
    await proxy.kill(); // between the failure and the next try
    await proxy.start();
    await expect.poll(() => app.requests.length, { timeout: 120_000 }).toBe(2);

    const [first, second] = app.requests.map(headersOf);
    expect(first?.["webhook-id"]).toBe(second?.["webhook-id"]);
    for (const request of app.requests)
      expect(readWebhook(request)).toMatchObject({
        type: "video.succeeded",
        data: { id, user: "ann", model: "beta3.0-video", task: { data: { task_id: id } } },
      });
    expect(push.received).toMatchObject([
      { path: "/phone", notice: { type: "video.succeeded", id, model: "beta3.0-video" } },
    ]);
    expect(await (await proxy.ask(path)).json()).toMatchObject({ data: { status: "SUCCESS" } });
    const [polledAt = []] = proxy.polls.values();
    for (const [nth, at] of polledAt.slice(1).entries())
      expect(at - (polledAt[nth] ?? 0)).toBeGreaterThan(14_900 / proxy.clockSpeed);
    for (const secret of proxy.secrets) expect(proxy.logs.join("\n")).not.toContain(secret);
    expect(proxy.logs.join("\n")).toContain("webhook: the app answered with 500");
  },
);

test(
  "a task that a page shows, or that its user has removed, gives no push, and a webhook all the same",
  slow,
  async () => {
    const { app, push } = proxy;
    expect((await proxy.subscribe(push.subscribe("laptop"))).status).toBe(201);
    const [shown, removed] = [await proxy.create(), await proxy.create()];
    expect((await proxy.ask(`${removed.path}/events`, { method: "DELETE" })).status).toBe(204);
    const tab = readEvents(await proxy.ask(`${shown.path}/events`));
    expect(await tab.nextEvent()).toMatchObject({ event: "task" });
    proxy.taskIs("FAILURE");
    await expect.poll(() => app.requests.length, { timeout: 120_000 }).toBe(2);
    let last = await tab.nextEvent();
    while (last.event === "task") last = await tab.nextEvent();
    expect(last).toEqual({ event: "end", data: {} });
    // one that ends later, so that a push for the others would have come first
    const later = await proxy.create();
    await expect.poll(() => push.received, { timeout: 120_000 }).toHaveLength(1);
    expect(push.received).toMatchObject([{ notice: { type: "video.failed", id: later.id } }]);
    await expect.poll(() => app.requests.length, { timeout: 120_000 }).toBe(3);
  },
);

test(
  "a push that is to be repeated is withdrawn with its task; the webhook says that it was removed",
  slow,
  async () => {
    const { app, push } = proxy;
    app.answers((response) => void response.writeHead(500).end());
    push.answers(503, 503, 503, 503, 503);
    expect((await proxy.subscribe(push.subscribe("phone"))).status).toBe(201);
    proxy.taskIs("SUCCESS");
    const { id, path } = await proxy.create();
    await expect.poll(() => push.asked.length, { timeout: 120_000 }).toBe(1);
    await expect.poll(() => app.requests.length, { timeout: 120_000 }).toBe(1);
    expect(JSON.parse(app.requests[0]?.body ?? "").data.removed).toBeUndefined();
    expect((await proxy.ask(`${path}/events`, { method: "DELETE" })).status).toBe(204);
    const newest = () => JSON.parse(app.requests.at(-1)?.body ?? "").data;
    await expect.poll(newest, { timeout: 120_000 }).toMatchObject({ id, removed: true });
    // one that ends later, whose push comes after a second try for the first would have come
    push.answers();
    const later = await proxy.create();
    await expect.poll(() => push.received, { timeout: 120_000 }).toHaveLength(1);
    expect(push.received[0]?.notice.id).toBe(later.id);
  },
);
