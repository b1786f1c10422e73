import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env as bindings } from "cloudflare:workers";
import { findServer, hashText } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom } from "../../worker-proxy/test/support/random.js";
import {
  addDeadLetter,
  DEAD_LETTERS_KEY,
  readDeadLetters,
  removeDeadLetter,
} from "../src/videos/dead-letters.js";
import { type CountedEnv, proxy, used } from "./fixture/counted-worker.js";
import { createDeadLetterOperations } from "./support/dead-letters.js";
import { gateway, refusal, task } from "./support/durable-gateway.js";

/* Watched videos in Durable Objects. The tests evict the objects, and run their alarms. */

const env = bindings as unknown as CountedEnv;
const { COUNTED } = bindings as unknown as { readonly COUNTED: TestNamespace };
const deadLetters = createDeadLetterOperations(findServer<CountedEnv>(proxy).plugins, env);
const START = Date.UTC(2041, 0, 1);
const DAY = 86_400_000;

let user = "";
let users = 0;
const webhooks: { readonly id: string; readonly type: string; readonly status: number }[] = [];
const app = { next: () => 204 };

beforeEach(() => {
  // each test begins later than any alarm of an earlier test
  vi.useFakeTimers({ toFake: ["Date"], now: START + ++users * 400 * DAY });
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.stubGlobal("fetch", async (request: Request) => {
    const status = app.next();
    const { type } = (await request.json()) as { type: string };
    webhooks.push({ id: request.headers.get("webhook-id") ?? "", type, status });
    return new Response(null, { status });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const findObject = async () => COUNTED.get(COUNTED.idFromName(`user:${await hashText(user)}`));
const createVideo = () => task("SUCCESS", { result_url: "https://cdn.example/v.mp4" });

function request(path: string, body?: object): Promise<Response> {
  const headers = { authorization: user, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  return proxy.fetch(new Request(`https://proxy.example${path}`, init), env);
}

/** Creates a task. Returns its path. */
async function create(): Promise<string> {
  const response = await request("/v1/video/generations", {
    model: "beta3.0-video",
    input: { prompt: "a bird" },
  });
  const { id } = (await response.json()) as { id: string };
  return `/v1/video/generations/${id}`;
}

/** Advances the time to the next alarm, runs its jobs to their end, and returns true. Returns false if no alarm is near. */
async function runNextAlarm(withinMs = DAY): Promise<boolean> {
  const object = await findObject();
  const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
  if (at === null || at - Date.now() > withinMs) return false;
  vi.setSystemTime(Math.max(Date.now(), at));
  await runDurableObjectAlarm(object);
  const countRunning = () =>
    runInDurableObject(
      object,
      (_, { storage }) => storage.sql.exec("SELECT id FROM timers WHERE run IS NOT NULL").toArray().length,
    );
  await expect.poll(countRunning).toBe(0);
  return true;
}

test("reports each end under one id, whenever objects are evicted and whatever gateway and app do (case 129)", async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const { below, one, rarely } = openRandom(seed);
    vi.setSystemTime(Date.now() + 30 * DAY);
    user = `evicted-${seed}`;
    webhooks.length = 0;
    let isOver = false;
    app.next = () => one([204, 204, 500, 503, 410, 404]);
    gateway.respondWith(({ method }) => {
      if (method === "POST") return Response.json({ id: `t-${seed}`, status: "queued" });
      if (rarely(0.4)) return refusal(one([404, 400, 401, 500, 503]));
      return isOver ? createVideo() : task(one(["QUEUED", "IN_PROGRESS"]));
    });
    const path = await create();
    for (let step = 0; step < 20; step += 1) {
      if (step === 6) isOver = true;
      const act = below(5);
      // an object that is not in memory can't be evicted
      if (act === 0) await evictDurableObject(await findObject()).catch(() => {});
      if (act === 1) await (await request(path)).text();
      if (act === 2) vi.setSystemTime(Date.now() + below(120_000));
      if (rarely(0.7)) await runNextAlarm();
    }
    gateway.next = createVideo;
    app.next = () => 204;
    await request(path);
    for (let alarms = 0; alarms < 60 && (await runNextAlarm()); alarms += 1);
    for (const { id } of await deadLetters.listDeadLetters())
      expect(await deadLetters.resend(id), `seed ${seed}`).toBe(true);
    for (let alarms = 0; alarms < 60 && (await runNextAlarm()); alarms += 1);
    expect(await (await request(path)).text(), `seed ${seed}`).toContain("SUCCESS");
    const succeeded = webhooks.filter(({ type }) => type === "video.succeeded");
    expect(new Set(succeeded.map(({ id }) => id)).size, `seed ${seed}`).toBe(1);
    expect(
      succeeded.some(({ status }) => status === 204),
      `seed ${seed}`,
    ).toBe(true);
  }
});

test.each([0, 1000, 9_990])(
  "a dead letter reads and writes a few rows beside %i other dead letters (case 130)",
  async (stored) => {
    const host = findServer<CountedEnv>(proxy).host(env);
    const deadLetter = (id: string) => ({
      id,
      handler: "webhook",
      userId: "ann",
      taskId: "t",
      attempts: 9,
      cause: "no",
      failedAt: Date.now(),
    });
    const add = (id: string) =>
      host.run(DEAD_LETTERS_KEY, addDeadLetter, { deadLetter: deadLetter(id), userKey: "u" });
    await add("first");
    const object = COUNTED.get(COUNTED.idFromName(DEAD_LETTERS_KEY));
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("DELETE FROM dead_letters WHERE id LIKE 'x%'");
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO dead_letters (key, id, user_key, number, failed_at, dead_letter)
        SELECT ?2, 'x' || i, 'many', (SELECT MAX(number) FROM dead_letters) + i, ?3, '{}' FROM n WHERE ?1 > 0`,
        ...[stored, DEAD_LETTERS_KEY, Date.now()],
      );
    });
    const measure = async (act: () => Promise<unknown>) => {
      Object.assign(used, { read: 0, written: 0 });
      await act();
      return { read: used.read, written: used.written };
    };
    const added = await measure(() => add("new"));
    const listed = await measure(() => host.run(DEAD_LETTERS_KEY, readDeadLetters, { after: 0 }));
    const removed = await measure(() =>
      host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id: "new", failedAt: Date.now() }),
    );
    expect(added.read).toBeLessThanOrEqual(12);
    expect(added.written).toBeLessThanOrEqual(10);
    expect(listed.read).toBeLessThanOrEqual(210);
    expect(listed.written).toBe(0);
    expect(removed.read).toBeLessThanOrEqual(8);
    expect(removed.written).toBeLessThanOrEqual(6);
  },
);

test("a create, a page's poll and the proxy's own poll read and write as many rows beside 100,000 ended tasks as beside one", async () => {
  // without jitter: a first poll that is due earlier than the alarm would set the alarm again, which is a written row
  vi.spyOn(Math, "random").mockReturnValue(0);
  const costs: unknown[] = [];
  let tasks = 0;
  gateway.respondWith(({ method }) =>
    method === "POST" ? Response.json({ id: `g-${++tasks}`, status: "queued" }) : task("QUEUED"),
  );
  for (const stored of [1, 100_000]) {
    user = `grown-${stored}`;
    await create();
    await runInDurableObject(await findObject(), async (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
        INSERT INTO video_watches (key, id, is_open, version, state) SELECT ?2, 'x' || i, 0, 1, '{}' FROM n`,
        ...[stored, `user:${await hashText(user)}`],
      );
    });
    const measure = async (act: () => Promise<unknown>) => {
      Object.assign(used, { read: 0, written: 0 });
      await act();
      return { read: used.read, written: used.written };
    };
    let path = "";
    const created = await measure(async () => {
      path = await create();
    });
    const read = await measure(async () => (await request(path)).text());
    vi.setSystemTime(Date.now() + 6_000);
    const polled = await measure(() => runNextAlarm());
    costs.push({ created, read, polled });
  }
  expect(costs[1]).toEqual(costs[0]);
});
