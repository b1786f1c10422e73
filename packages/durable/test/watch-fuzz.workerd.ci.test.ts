import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom, type Random, runsOf, SEED } from "../../worker-proxy/test/support/random.js";
import { crash } from "./support/crash.js";
import { alarmOf, ask, create, events, objects, operator, said, world } from "./support/notices.js";
import { isWorkerd } from "./support/platform.js";

/* Orders of polls, faults, cuts and what users do: each film that was paid for is told, once, and nothing goes on for ever. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The longest time for one step, in real milliseconds: then it hangs. */
const HANGS_MS = 15_000;

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
const fileless = () => Response.json({ code: "success", data: { status: "SUCCESS" } });

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
    return {
      keys: isWorkerd ? (await storage.list()).size : 0,
      tables: own,
      alarm: await storage.getAlarm(),
    };
  });
const nothing = { keys: 0, tables: [], alarm: null };
const endOf = async (find: Find) =>
  runInDurableObject(
    await find(),
    async (_, { storage }) => (await storage.get<{ end?: object }>("task"))?.end,
  );

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

/** Rings the alarms of objects until none comes within a time. None rings again and again at one time. */
async function ringAll(all: readonly Find[], ms: number): Promise<void> {
  const until = Date.now() + ms;
  let atOnce = 0;
  for (let rings = 0; rings < 3000; rings += 1) {
    const times = await Promise.all(all.map(timeOf));
    const next = Math.min(...times.map((at) => at ?? Infinity));
    if (next > until) return;
    atOnce = next > Date.now() ? 1 : atOnce + 1;
    expect(atOnce, "alarms at one time").toBeLessThan(20);
    await ring(all[times.indexOf(next)] as Find, Infinity);
  }
  expect.fail(`goes on for ever: ${JSON.stringify(await Promise.all(all.map(rowsOf)))}`);
}

/** The gateway of one film, and what it has said about it: the watch may say no more. */
function openGateway(random: Random) {
  const gateway = {
    startedAt: 0,
    isOver: false,
    last: "SUCCESS",
    /** Number of answers that show the success before its file. */
    fileless: 0,
    /** The gateway's own 404s since its last answer, and the first of them. */
    absent: { times: 0, since: 0 },
    mayBeAbsent: false,
    begin() {
      const last = random.rarely(0.2) ? "FAILURE" : "SUCCESS";
      const fresh = { startedAt: Date.now(), last, fileless: random.below(3), mayBeAbsent: false };
      Object.assign(gateway, { ...fresh, absent: { times: 0, since: 0 } });
    },
    answer(): Response | Promise<Response> {
      if (random.rarely(0.3)) return absent();
      if (random.rarely(0.5)) return random.one(troubles)();
      gateway.absent = { times: 0, since: 0 };
      return gateway.isOver ? ended() : said(random.one(open));
    },
    ended,
  };
  return gateway;

  function absent(): Response {
    const { times, since } = gateway.absent;
    gateway.absent = { times: times + 1, since: times === 0 ? Date.now() : since };
    if (times >= 4 && Date.now() - gateway.absent.since >= 5 * MINUTE) gateway.mayBeAbsent = true;
    return refused(404);
  }

  function ended(): Response {
    return gateway.last === "SUCCESS" && gateway.fileless-- > 0 ? fileless() : said(gateway.last);
  }
}

/** A user with one film at a time, in a world that fails. */
function openLife(seed: number) {
  const random = openRandom(seed);
  vi.spyOn(Math, "random").mockImplementation(() => random.below(1000) / 1000);
  const user = `watch user ${seed}`;
  const gateway = openGateway(random);
  const watch = () => objects.watch(user, life.task.gatewayId);
  const index = () => objects.index(user);
  const life = {
    random,
    gateway,
    user,
    watch,
    index,
    task: {} as Task,
    isRemoved: false,
    cuts: 0,
    erasures: 0,
    /** Letters that were sent again. */
    resent: 0,
    plan: [] as string[],
    begin,
    erase,
    poll,
    resend,
  };
  world.app = () => new Response(null, { status: random.one([204, 204, 204, 500, 503, 410, 404]) });
  world.task = gateway.answer;
  return { ...life, life, actions: actions() };

  async function begin(): Promise<void> {
    life.task = await create(user);
    life.isRemoved = false;
    gateway.begin();
  }

  async function erase(): Promise<void> {
    await events.userData?.eraseUser(operator.env, user);
  }

  /** A poll of the user's page: it is told of no end that the gateway has not shown. */
  async function poll(): Promise<void> {
    const answer = (await (await ask(user, life.task.path)).json()) as { error?: { code: string } };
    if (answer.error?.code === "task_not_found")
      expect(gateway.mayBeAbsent, "is said to be absent").toBe(true);
    if (answer.error?.code === "watch_timeout")
      expect(Date.now() - gateway.startedAt).toBeGreaterThanOrEqual(DAY);
  }

  async function resend(): Promise<void> {
    for (const letter of (await operator.webhooks.listDeadLetters(operator.env)).letters)
      if (letter.user === user) {
        life.resent += 1;
        await operator.webhooks.resend(operator.env, letter.id);
      }
  }

  /** Lets the process end at one of the calls of an act, where it makes as many. */
  async function cut(act: () => Promise<unknown>): Promise<void> {
    const before = crash.process;
    const known = gateway.absent;
    const armed = await timeOf(watch);
    const lost = crash.in(1 + random.below(14));
    // what an object was asked for may never be answered
    await Promise.race([lost, act().catch(() => {})]);
    crash.at = Infinity;
    if (act !== erase && armed !== null) await arm(watch);
    if (crash.process === before) return;
    life.cuts += 1;
    // the answer was lost, too
    if (gateway.absent.times === 0) gateway.absent = known;
  }

  function actions(): readonly (readonly [name: string, act: () => Promise<unknown>])[] {
    return [
      ["poll", poll],
      ["poll", poll],
      [
        "subscribe and leave",
        async () => {
          const leaving = await ask(user, `${life.task.path}/events`);
          await leaving.body?.cancel();
        },
      ],
      ["wait", async () => vi.setSystemTime(Date.now() + random.below(120) * SECOND)],
      ["sleep", async () => random.rarely(0.2) && vi.setSystemTime(Date.now() + random.below(8) * HOUR)],
      // one that is not in memory can't be evicted, and need not be
      ["evict", async () => evictDurableObject(await watch()).catch(() => {})],
      ["cut the watch", () => cut(() => ring(watch))],
      ["cut a poll", () => cut(poll)],
      [
        "remove",
        async () => {
          if (!random.rarely(0.2)) return;
          life.isRemoved = true;
          await ask(user, `${life.task.path}/events`, { method: "DELETE" });
        },
      ],
      [
        "erase",
        async () => {
          if (!random.rarely(0.2)) return;
          await random.one([erase, () => cut(erase), () => Promise.all([ring(watch), erase()])])();
          await erase();
          life.erasures += 1;
          expect(await rowsOf(watch), "an erased user").toEqual(nothing);
          await begin();
        },
      ],
      ["resend", resend],
      [
        "cut a create",
        async () => {
          const other = objects.nextWatch(user);
          await cut(async () => void (await create(user)));
          const { keys, alarm } = await rowsOf(other);
          expect(keys === 0 || alarm !== null, "a new watch sleeps").toBe(true);
        },
      ],
    ];
  }
}

type Life = ReturnType<typeof openLife>["life"];

/** Runs a step. A step that hangs, or breaks a rule, is told with all steps before it. */
async function take(life: Life, seed: number, name: string, act: () => Promise<unknown>): Promise<void> {
  life.plan.push(name);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("hangs")), HANGS_MS);
  });
  try {
    await Promise.race([act(), late]);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`seed ${seed}, ${life.plan.join(", ")}: ${message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Fifty steps of a user, the film is over after fifteen. */
async function live(seed: number): Promise<Life> {
  const { life, actions } = openLife(seed);
  const { random, gateway, watch } = life;
  await take(life, seed, "begin", life.begin);
  for (let nth = 0; nth < 50; nth += 1) {
    if (nth === 15) gateway.isOver = true;
    await take(life, seed, ...random.one(actions));
    await take(life, seed, "check", () => checkMoving(life));
    if (random.rarely(0.7)) await take(life, seed, "ring the watch", () => ring(watch));
  }
  return life;
}

/** A watch always has an alarm, within ten minutes where it has no end. */
async function checkMoving({ watch }: Life): Promise<void> {
  const at = await timeOf(watch);
  expect(at, "nothing will move").not.toBeNull();
  if ((await endOf(watch)) === undefined)
    expect((at ?? Infinity) - Date.now(), "is not polled").toBeLessThanOrEqual(10 * MINUTE);
}

/** Each end is told once, and in truth. */
function checkEnds({ gateway, task, isRemoved, cuts, resent }: Life) {
  const mine = world.events.filter(({ taskId }) => taskId === task.gatewayId);
  const ends = mine.filter((model) => model.kind === "watch");
  const shown = ends.map(({ outcome, code }) => `${outcome} ${code}`);
  expect(new Set(shown).size, `${shown}`).toBe(ends.length);
  for (const { outcome, code } of ends) {
    const isTrue = {
      complete: gateway.last === "SUCCESS",
      failed: gateway.last === "FAILURE" && code === "task_failed",
      lost: code === "task_not_found" ? gateway.mayBeAbsent : code === "watch_timeout",
      stopped: isRemoved || code === "user_erased",
    }[outcome as string];
    expect(isTrue, `${outcome} ${code}`).toBe(true);
  }
  const hooks = world.webhooks.filter((hook) => hook.task === task.id);
  const ids = [...new Set(hooks.map(({ type, id }) => `${type} ${id}`))];
  expect(new Set(ids.map((text) => text.split(" ")[0])).size, `${ids}`).toBe(ids.length);
  const taken = hooks.filter(({ ok }) => ok).map(({ id }) => id);
  if (cuts + resent === 0) expect(new Set(taken).size, `sent again: ${taken}`).toBe(taken.length);
  return { ends, hooks };
}

test("case 156: no order of polls, faults, cuts, erasures and what users do loses a film, tells it twice, or goes on for ever", async () => {
  const seen = { cuts: 0, erasures: 0, removed: 0, told: 0 };
  for (let seed = SEED; seed < SEED + runsOf(25); seed += 1) {
    vi.setSystemTime(Date.UTC(2041, 0, 1) + (seed - SEED) * 200 * DAY);
    world.reset();
    const life = await live(seed);
    const told = await settle(life, seed);
    seen.told += Number(told);
    seen.cuts += life.cuts;
    seen.erasures += life.erasures;
    seen.removed += Number(life.isRemoved);
    await take(life, seed, "the end", () => forget(life, seed));
  }
  if (runsOf(25) < 25) return;
  // the world is neither too kind nor too cruel to say anything
  expect(seen.told).toBeGreaterThan(15);
  expect(seen.cuts).toBeGreaterThan(30);
  expect(seen.erasures).toBeGreaterThan(5);
  expect(seen.removed).toBeGreaterThan(3);
});

/** The world is whole again: the film is told. Some are never over. Returns true for one whose success was told. */
async function settle(life: Life, seed: number): Promise<boolean> {
  const { gateway, user, watch } = life;
  const isForgotten = seed % 5 === 0;
  world.app = () => new Response(null, { status: 204 });
  world.task = () => (isForgotten ? said("QUEUED") : gateway.ended());
  vi.setSystemTime(Date.now() + 2 * MINUTE);
  await take(life, seed, "poll", life.poll);
  await take(life, seed, "ring all", () => ringAll([watch], 2 * DAY));
  await take(life, seed, "resend", life.resend);
  await take(life, seed, "ring all", () => ringAll([watch], 2 * DAY));
  let isTold = false;
  await take(life, seed, "check ends", async () => {
    const { ends, hooks } = checkEnds(life);
    const films = hooks.filter(({ type }) => type === "video.succeeded");
    const ended = await (await ask(user, life.task.path)).text();
    if (ended.includes("SUCCESS")) expect(films.length, "the film is not told").toBeGreaterThan(0);
    if (!isForgotten) expect(ended).toContain(gateway.last);
    if (!life.isRemoved)
      for (const film of films) expect(film.hasFile, "is told without its file").toBe(true);
    const isCut = life.cuts > 0 || life.isRemoved;
    if (!isCut && films.length > 0)
      expect(ends.filter(({ outcome }) => outcome === "complete")).toHaveLength(1);
    isTold = films.length > 0;
  });
  return isTold;
}

/** Nobody comes any more: in the end nothing is left, and nothing is polled. */
async function forget({ user, watch, index, erase }: Life, seed: number): Promise<void> {
  if (seed % 3 === 0) await erase();
  await ringAll([watch], 80 * DAY);
  expect(await rowsOf(watch), "a watch is left").toEqual(nothing);
  if (seed % 2 === 0) await ringAll([index], 80 * DAY);
  else await erase();
  expect(await rowsOf(index), "an index is left").toEqual(nothing);
  await erase();
  for (const object of [watch, index]) expect(await rowsOf(object), "an erased user").toEqual(nothing);
  for (const letter of (await operator.webhooks.listDeadLetters(operator.env)).letters)
    expect(letter.user).not.toBe(user);
}
