import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { crash } from "./support/crash.js";
import {
  alarmOf,
  ask,
  create,
  events,
  objects,
  operator,
  push,
  said,
  subscribe,
  world,
} from "./support/notices.js";
import { openRandom, runsOf, SEED } from "./support/random.js";

/* Orders of polls, faults, cuts and what users do: each film that was paid for is told, once, and nothing goes on for ever. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const refused = (status: number, headers: Record<string, string> = {}) =>
  Response.json({ error: { message: "no", code: "x" } }, { status, headers });
const page = (status = 200) =>
  new Response("<!doctype html>", { status, headers: { "content-type": "text/html" } });

/** Answers that say nothing about a task. */
const troubles: readonly (() => Response | Promise<Response>)[] = [
  () => refused(400),
  () => refused(401),
  () => refused(402),
  () => refused(403),
  () => refused(410),
  () => refused(500),
  () => refused(503, { "retry-after": "864000" }),
  () => refused(429, { "retry-after": new Date(Date.now() + 40 * DAY).toUTCString() }),
  () => page(),
  () => page(404),
  () => page(410),
  () => page(502),
  () => Response.json({ code: "db_error" }),
  () => Response.json([1]),
  () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } }),
  () => Promise.reject(new TypeError("connection lost")),
];
/** States that the spec does not name final. */
const open = ["NOT_START", "SUBMITTED", "QUEUED", "IN_PROGRESS", "UNKNOWN", "paused", ""];

/** Finds an object anew for each call: a stub of one that was lost stays broken. */
type Find = () => ReturnType<typeof objects.watch>;
type Task = Awaited<ReturnType<typeof create>>;

const timeOf = async (find: Find) => alarmOf(await find());
const rowsOf = async (find: Find) =>
  runInDurableObject(await find(), async (_, { storage }) => {
    const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const own = tables.map(({ name }) => String(name)).filter((name) => !/^_cf|^sqlite/.test(name));
    return { keys: (await storage.list()).size, tables: own, alarm: await storage.getAlarm() };
  });
const nothing = { keys: 0, tables: [], alarm: null };

/** Lets the time of an alarm come, where it is near. One that fails is called again, as the platform does. */
async function ring(find: Find, within = DAY): Promise<void> {
  const at = await timeOf(find);
  if (at === null || at - Date.now() >= within) return;
  vi.setSystemTime(Math.max(Date.now(), at));
  await runDurableObjectAlarm(await find()).catch(() => arm(find));
}

const arm = async (find: Find) =>
  runInDurableObject(await find(), async (_, { storage }) => {
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now());
  });

/** Rings the alarms of objects until none comes within a time. Returns how many came at most at one time. */
async function ringAll(all: readonly Find[], ms: number): Promise<number> {
  const until = Date.now() + ms;
  let most = 0;
  let atOnce = 0;
  for (let rings = 0; ; rings += 1) {
    expect(rings, `goes on for ever: ${JSON.stringify(await Promise.all(all.map(rowsOf)))}`).toBeLessThan(3000);
    const times = await Promise.all(all.map(timeOf));
    const next = Math.min(...times.map((at) => at ?? Infinity));
    if (next > until) return most;
    atOnce = next > Date.now() ? 1 : atOnce + 1;
    most = Math.max(most, atOnce);
    if (most > 40) return most;
    await ring(all[times.indexOf(next)] as Find, Infinity);
  }
}

/** A user with one film at a time, in a world that fails. */
async function live(seed: number) {
  const random = openRandom(seed);
  vi.spyOn(Math, "random").mockImplementation(() => random.below(1000) / 1000);
  const user = `watch user ${seed}`;
  const name = `seed ${seed}`;
  const pushes = () => objects.push(user);
  const watch = () => objects.watch(user, task.gatewayId);
  let task = {} as Task;
  let isRemoved = false;
  let cuts = 0;
  let erasures = 0;
  let isOver = false;
  /** The 404s since the last answer, and the first of them. */
  const absent = { times: 0, since: 0, isSaid: false };
  world.app = () => new Response(null, { status: random.one([204, 204, 204, 500, 503, 410, 404]) });
  world.service = () => new Response(null, { status: random.one([201, 201, 503, 429, 403]) });
  world.task = () => {
    if (random.rarely(0.3)) {
      absent.times += 1;
      if (absent.times === 1) absent.since = Date.now();
      if (absent.times >= 5 && Date.now() - absent.since >= 5 * MINUTE) absent.isSaid = true;
      return refused(404);
    }
    if (random.rarely(0.5)) return random.one(troubles)();
    absent.times = 0;
    return said(isOver ? "SUCCESS" : random.one(open));
  };
  const begin = async () => {
    task = await create(user);
    isRemoved = false;
    Object.assign(absent, { times: 0, since: 0, isSaid: false });
    await subscribe(user, `watch-${seed}`);
  };
  /** Lets the process end at one of the calls of an act, where it makes as many. */
  const cut = async (act: () => Promise<unknown>) => {
    const before = crash.process;
    const known = { ...absent };
    const armed = await Promise.all([watch, pushes].map(timeOf));
    const lost = crash.in(1 + random.below(14));
    // what an object was asked for may never be answered
    await Promise.race([lost, act().catch(() => {})]);
    crash.at = Infinity;
    if (act !== erase)
      for (const [nth, find] of [watch, pushes].entries()) if (armed[nth] !== null) await arm(find);
    if (crash.process === before) return;
    cuts += 1;
    // the answer was lost, too
    if (absent.times === 0) Object.assign(absent, known);
  };
  const erase = async () => {
    await events.userData?.eraseUser(operator.env, user);
    await push.userData?.eraseUser(operator.env, user);
  };
  const poll = async () => {
    const { error } = (await (await ask(user, task.path)).json()) as { error?: { code: string } };
    if (error?.code === "task_not_found") expect(absent.isSaid, `${name}: is said to be absent`).toBe(true);
  };
  const actions: readonly (() => Promise<unknown>)[] = [
    poll,
    poll,
    async () => {
      const leaving = await ask(user, `${task.path}/events`);
      await leaving.body?.cancel();
    },
    async () => vi.setSystemTime(Date.now() + random.below(120) * SECOND),
    async () => random.rarely(0.2) && vi.setSystemTime(Date.now() + random.below(8) * HOUR),
    // one that is not in memory can't be evicted, and need not be
    async () => evictDurableObject(await random.one([watch, pushes])()).catch(() => {}),
    () => cut(() => ring(watch)),
    () => cut(() => ring(random.one([watch, pushes]))),
    () => cut(poll),
    async () => {
      if (!random.rarely(0.2)) return;
      isRemoved = true;
      await ask(user, `${task.path}/events`, { method: "DELETE" });
    },
    async () => {
      if (!random.rarely(0.2)) return;
      if (random.rarely(0.5)) await cut(erase);
      await erase();
      erasures += 1;
      expect(await rowsOf(watch), `${name}: an erased user`).toEqual(nothing);
      await begin();
    },
    async () => {
      const { letters } = await operator.webhooks.listDeadLetters(operator.env);
      const mine = letters.find((letter) => letter.user === user);
      if (mine) await operator.webhooks.resend(operator.env, mine.id);
    },
  ];
  await begin();
  for (let step = 0; step < 50; step += 1) {
    if (step === 15) isOver = true;
    await random.one(actions)();
    const at = await timeOf(watch);
    expect(at, `${name}: nothing will move`).not.toBeNull();
    const { end } = await runInDurableObject(await watch(), async (_, { storage }) => ({
      ...(await storage.get<{ end?: object }>("task")),
    }));
    if (!end)
      expect((at ?? Infinity) - Date.now(), `${name}: is not polled`).toBeLessThanOrEqual(10 * MINUTE);
    await ring(random.rarely(0.7) ? watch : pushes);
    if (!isOver)
      expect(
        world.events.filter(({ outcome }) => outcome === "complete"),
        name,
      ).toEqual([]);
  }
  return { name, user, watch, pushes, task, isRemoved, absent, cuts, erasures, erase };
}

test("case 156: no order of polls, faults, cuts, erasures and what users do loses a film, tells it twice, or goes on for ever", async () => {
  const seen = { cuts: 0, erasures: 0, removed: 0, told: 0 };
  for (let seed = SEED; seed < SEED + runsOf(25); seed += 1) {
    vi.setSystemTime(Date.UTC(2041, 0, 1) + (seed - SEED) * 200 * DAY);
    world.reset();
    const { name, user, watch, pushes, task, isRemoved, cuts, erasures, erase } = await live(seed);
    // the world is whole again
    world.app = () => new Response(null, { status: 204 });
    world.service = () => new Response(null, { status: 201 });
    const isForgotten = seed % 5 === 0;
    world.task = () => said(isForgotten ? "QUEUED" : "SUCCESS");
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    await (await ask(user, task.path)).text();
    const both = [watch, pushes];
    expect(await ringAll(both, 2 * DAY), `${name}: alarms at one time`).toBeLessThan(20);
    for (const letters of [operator.webhooks, operator.pushes])
      for (const letter of (await letters.listDeadLetters(operator.env)).letters)
        if (letter.user === user) await letters.resend(operator.env, letter.id);
    expect(await ringAll(both, 2 * DAY), `${name}: alarms at one time`).toBeLessThan(20);

    const mine = world.events.filter(({ taskId }) => taskId === task.gatewayId);
    const ofWatch = mine.filter(({ kind }) => kind === "watch");
    const ends = ofWatch.map(({ outcome, code }) => `${outcome} ${code}`);
    expect(new Set(ends).size, `${name}: ${ends}`).toBe(ends.length);
    const told = world.webhooks.filter((hook) => hook.task === task.id);
    const films = told.filter(({ type }) => type === "video.succeeded");
    expect(new Set(films.map(({ id }) => id)).size, `${name}: webhooks of the film`).toBeLessThanOrEqual(1);
    const ended = await (await ask(user, task.path)).text();
    if (ended.includes("SUCCESS")) expect(films.length, `${name}: the film is not told`).toBeGreaterThan(0);
    if (!isForgotten) expect(ended, name).toContain("SUCCESS");
    if (cuts === 0 && films.length > 0 && !isRemoved)
      expect(
        ofWatch.filter(({ outcome }) => outcome === "complete"),
        name,
      ).toHaveLength(1);
    seen.told += Number(films.length > 0);
    seen.cuts += cuts;
    seen.erasures += erasures;
    seen.removed += Number(isRemoved);

    // nobody comes any more: in the end nothing is left, and nothing is polled
    if (seed % 3 === 0) await erase();
    await ringAll(both, 80 * DAY);
    expect(await rowsOf(watch), `${name}: a watch is left`).toEqual(nothing);
    expect((await rowsOf(pushes)).alarm, `${name}: alarms go on`).toBeNull();
    await erase();
    const index = () => objects.index(user);
    for (const object of [watch, pushes, index])
      expect(await rowsOf(object), `${name}: an erased user`).toEqual(nothing);
    for (const letters of [operator.webhooks, operator.pushes])
      for (const letter of (await letters.listDeadLetters(operator.env)).letters)
        expect(letter.user, name).not.toBe(user);
  }
  // the world is neither too kind nor too cruel to say anything
  expect(seen.told).toBeGreaterThan(15);
  expect(seen.cuts).toBeGreaterThan(30);
  expect(seen.erasures).toBeGreaterThan(5);
  expect(seen.removed).toBeGreaterThan(3);
}, 600_000);
