import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readEvents } from "./support/event-stream.js";
import { KEY } from "./support/key.js";
import { type Recorded, startUpstream } from "./support/upstream.js";
import { installDurableProxy } from "./support/workerd.js";

let upstream: Awaited<ReturnType<typeof startUpstream>>;
let proxy: Awaited<ReturnType<typeof installDurableProxy>>;

beforeAll(async () => {
  upstream = await startUpstream();
  proxy = await installDurableProxy(upstream.url);
});

afterEach(() => proxy.kill());

afterAll(async () => {
  await proxy.remove();
  upstream.close();
});

/** The gateway answers each question so from now on; gives the first of them. */
function answers(status: string, id = "t-1"): Promise<Recorded> {
  return new Promise((resolve) =>
    upstream.answers((response, request) => {
      const json = { code: "success", message: "", data: { id, task_id: id, status } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(json));
      resolve(request);
    }),
  );
}

const user = { authorization: "Bearer user-token", "content-type": "application/json" };

/** The address of a new task's events. */
async function created(address: string): Promise<string> {
  const body = JSON.stringify({ model: "beta3.0-video", input: { prompt: "a bird" } });
  const receipt = await fetch(`${address}/v1/video/generations`, { method: "POST", body, headers: user });
  const { data } = (await receipt.json()) as { data: { id: string } };
  return `/v1/video/generations/${data.id}/events`;
}

test("a task is watched on after the machine died, and nothing is told twice", {
  timeout: 60_000,
}, async () => {
  let address = await proxy.start();
  answers("QUEUED");
  const path = await created(address);
  const tab = readEvents(await fetch(address + path, { headers: user }));
  const first = await tab.nextEvent();
  expect(first).toMatchObject({ event: "task", data: { data: { status: "QUEUED" } } });
  expect(path).toContain(`/${first.data.data.task_id}/`);
  await proxy.kill();
  expect((await tab.nextEvent()).stopped).toBeDefined();

  const asked = answers("IN_PROGRESS");
  address = await proxy.start();
  // by its alarm alone: no tab has come back yet
  expect(await asked).toMatchObject({ method: "GET", url: "/v1/video/generations/t-1" });
  const back = readEvents(
    await fetch(address + path, { headers: { ...user, "last-event-id": `${first.id}` } }),
  );
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

// within 20 s: a socket is found closed by the first write to it, and the second comes after 25 or more
test("tabs that close are noticed as soon as there is something to tell", { timeout: 20_000 }, async () => {
  const address = await proxy.start();
  answers("QUEUED", "t-2");
  const path = await created(address);
  const leaving = new AbortController();
  const open = (signal?: AbortSignal) => fetch(address + path, { headers: user, ...(signal && { signal }) });
  for (const tab of await Promise.all(Array.from({ length: 16 }, () => open(leaving.signal))))
    expect((await readEvents(tab).nextEvent()).event).toBe("task");
  expect((await open()).status).toBe(429);
  leaving.abort();
  await answers("IN_PROGRESS", "t-2");
  let again = await open();
  while (again.status === 429) again = await open();
  expect((await readEvents(again).nextEvent()).data.data.status).toBe("IN_PROGRESS");
});

test("where closed tabs could not be noticed, nothing is pushed", { timeout: 60_000 }, async () => {
  const unready = await installDurableProxy(upstream.url, []);
  try {
    const address = await unready.start();
    answers("QUEUED", "t-3");
    const refused = await fetch(address + (await created(address)), { headers: user });
    expect(refused.status).toBe(502);
    expect(await refused.text()).not.toContain("enable_request_signal");
    expect(upstream.requests).toHaveLength(1);
  } finally {
    await unready.kill();
    await unready.remove();
  }
});
