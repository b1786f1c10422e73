import { afterEach, beforeEach, expect, test } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { headersOf, readWebhook, startNotifyingProxy, WEBHOOK_SECRET } from "./support/notify.js";

let proxy: Awaited<ReturnType<typeof startNotifyingProxy>>;

beforeEach(async ({ onTestFailed }) => {
  proxy = await startNotifyingProxy({ speed: 2 });
  onTestFailed(() => console.error(proxy.logs.join("\n")));
});
afterEach(() => proxy.close());

test("three tabs, a crash and an app that fails once: one webhook with one id", async () => {
  const { app } = proxy;
  app.answers((response) => void response.writeHead(app.requests.length === 1 ? 500 : 204).end());
  const { id, path } = await proxy.create();
  await Promise.all([1, 2, 3].map(() => proxy.ask(path)));
  proxy.taskIs("SUCCESS");
  await proxy.kill();
  await proxy.start();
  await expect.poll(() => proxy.logs.join("\n")).toContain("webhook: the app answered with 500");
  await proxy.kill(); // between the failure and the next try
  await proxy.start();
  await expect.poll(() => app.requests.length).toBe(2);

  const [first, second] = app.requests.map(headersOf);
  expect(first?.["webhook-id"]).toBe(second?.["webhook-id"]);
  for (const request of app.requests)
    expect(readWebhook(request)).toMatchObject({
      type: "video.succeeded",
      data: { id, user: "ann", model: "beta3.0-video", task: { data: { task_id: id } } },
    });
  expect(await (await proxy.ask(path)).json()).toMatchObject({ data: { status: "SUCCESS" } });
  const [polledAt = []] = proxy.polls.values();
  for (const [nth, at] of polledAt.slice(1).entries())
    expect(at - (polledAt[nth] ?? 0)).toBeGreaterThan(14_900 / proxy.clockSpeed);
  expect(proxy.logs.join("\n")).not.toContain(WEBHOOK_SECRET);
});

test("a task that a page shows, and one that its user has removed, give a webhook each", async () => {
  const { app } = proxy;
  const [shown, removed] = [await proxy.create(), await proxy.create()];
  expect((await proxy.ask(`${removed.path}/events`, { method: "DELETE" })).status).toBe(204);
  const tab = readEvents(await proxy.ask(`${shown.path}/events`));
  expect(await tab.nextEvent()).toMatchObject({ event: "task" });
  proxy.taskIs("FAILURE");
  await expect.poll(() => app.requests.length).toBe(2);
  let last = await tab.nextEvent();
  while (last.event === "task") last = await tab.nextEvent();
  expect(last).toEqual({ event: "end", data: {} });
});

test("a webhook that is sent again says that its task was removed meanwhile", async () => {
  const { app } = proxy;
  app.answers((response) => void response.writeHead(500).end());
  proxy.taskIs("SUCCESS");
  const { id, path } = await proxy.create();
  await expect.poll(() => app.requests.length).toBe(1);
  expect(JSON.parse(app.requests[0]?.body ?? "").data.removed).toBeUndefined();
  expect((await proxy.ask(`${path}/events`, { method: "DELETE" })).status).toBe(204);
  const newest = () => JSON.parse(app.requests.at(-1)?.body ?? "").data;
  await expect.poll(newest).toMatchObject({ id, removed: true });
});
