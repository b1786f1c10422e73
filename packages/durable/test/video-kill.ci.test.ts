import { afterEach, beforeEach, expect, test } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { KEY } from "../../worker-proxy/test/support/key.js";
import type { Recorded } from "../../worker-proxy/test/support/upstream.js";
import { startDurableProxy } from "./support/workerd.js";

let proxy: Awaited<ReturnType<typeof startDurableProxy>>;

beforeEach(async () => {
  proxy = await startDurableProxy();
});

afterEach(() => proxy.close());

/** The gateway answers each question so from now on; gives the first of them. */
function answers(status: string, id = "t-1"): Promise<Recorded> {
  return new Promise((resolve) =>
    proxy.upstream.answers((response, request) => {
      const json = { code: "success", message: "", data: { id, task_id: id, status } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
      resolve(request);
    }),
  );
}

/** The address of a new task's events. */
async function created(): Promise<string> {
  const body = JSON.stringify({ model: "beta3.0-video", input: { prompt: "a bird" } });
  const receipt = await proxy.ask("/v1/video/generations", { method: "POST", body });
  const { data } = (await receipt.json()) as { data: { id: string } };
  return `/v1/video/generations/${data.id}/events`;
}

test("a task is watched on after a crash, and no event is sent twice", async () => {
  answers("QUEUED");
  const path = await created();
  const tab = readEvents(await proxy.ask(path));
  const first = await tab.nextEvent();
  expect(first).toMatchObject({ event: "task", data: { data: { status: "QUEUED" } } });
  expect(path).toContain(`/${first.data.data.task_id}/`);
  await proxy.kill();
  expect((await tab.nextEvent()).stopped).toBeDefined();

  const asked = answers("IN_PROGRESS");
  await proxy.start();
  // by its alarm alone: no tab has come back yet
  expect(await asked).toMatchObject({ method: "GET", url: "/v1/video/generations/t-1" });
  const back = readEvents(await proxy.ask(path, { headers: { "last-event-id": `${first.id}` } }));
  expect(await back.nextEvent()).toMatchObject({ event: "task", data: { data: { status: "IN_PROGRESS" } } });
  const asking = (await asked).rawHeaders;
  expect(asking[asking.findIndex((name) => name.toLowerCase() === "authorization") + 1]).toBe(
    `Bearer ${KEY}`,
  );

  answers("SUCCESS");
  expect(await back.nextEvent()).toMatchObject({ event: "task", data: { data: { status: "SUCCESS" } } });
  expect(await back.nextEvent()).toEqual({ event: "end", data: {} });
  expect(await back.nextEvent()).toEqual({ stopped: "closed" });
});

test("tabs that close are noticed at the next event", async () => {
  answers("QUEUED", "t-2");
  const path = await created();
  const leaving = new AbortController();
  for (const tab of await Promise.all(
    Array.from({ length: 16 }, () => proxy.ask(path, { signal: leaving.signal })),
  ))
    expect((await readEvents(tab).nextEvent()).event).toBe("task");
  expect((await proxy.ask(path)).status).toBe(429);
  leaving.abort();
  await answers("IN_PROGRESS", "t-2");
  let again = await proxy.ask(path);
  await expect
    .poll(async () => {
      if (again.status === 429) again = await proxy.ask(path);
      return again.status;
    })
    .toBe(200);
  expect((await readEvents(again).nextEvent()).data.data.status).toBe("IN_PROGRESS");
  // noticed by the event of the first poll: no other one was sent
  expect(proxy.upstream.requests).toHaveLength(1);
});
