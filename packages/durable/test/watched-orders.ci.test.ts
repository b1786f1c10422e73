import { beforeEach, expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { countRuns, openRandom, SEED } from "../../worker-proxy/test/support/random.js";
import type { SimulatedGateway } from "./support/simulated-gateway.js";
import { simulateWatch, USER } from "./support/simulated-watch.js";
import { DAY, HOUR, jump, MINUTE, SECOND, settle, stopClock } from "./support/watched.js";

/* Orders of polls, faults, crashes and acts of users: each video that is paid for is told, and nothing runs for ever. */

stopClock();
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));

const RUNS = 12;
const TABLES = ["video_watches", "video_ends", "dead_letters", "timers"];

/** Lets time pass. Waits only 4 turns of the event loop: other work continues during the next act. */
const pass = (ms: number) => jump(ms, 4);

interface Task {
  readonly path: string;
  readonly id: string;
  readonly gatewayId: string;
  readonly gateway: SimulatedGateway;
  isRemoved: boolean;
}

/** A user with one task at a time. */
async function openLife(seed: number) {
  const random = openRandom(seed);
  vi.spyOn(Math, "random").mockImplementation(() => random.below(1000) / 1000);
  const simulation = await simulateWatch(random);
  const life = {
    ...{ random, simulation, erasures: 0, resent: 0, begin, poll, listen, erase, resend },
    task: undefined as unknown as Task,
    /** The acts so far, for the message of a rule that is broken. */
    plan: [] as string[],
  };
  return life;

  async function begin(): Promise<void> {
    const { isFaulty } = simulation;
    // a watch that could not begin is told as dropped, and has no webhook
    simulation.isFaulty = false;
    const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
    const response = await simulation.current.request({
      method: "POST",
      path: "/v1/video/generations",
      body,
    });
    const { id } = (await response.json()) as { id: string };
    simulation.isFaulty = isFaulty;
    const gatewayId = `t-${simulation.gateways.size}`;
    const gateway = simulation.gateways.get(gatewayId) as SimulatedGateway;
    life.task = { id, gatewayId, gateway, path: `/v1/video/generations/${id}`, isRemoved: false };
  }

  /** Polls as a page does, which is told of no end that the gateway has not shown. */
  async function poll(): Promise<string> {
    const { gateway, path } = life.task;
    const text = await (await simulation.current.request({ path })).text();
    if (text.includes("task_not_found")) expect(gateway.mayBeAbsent, "is said to be unknown").toBe(true);
    if (text.includes("watch_timeout")) expect(Date.now() - gateway.startedAt).toBeGreaterThanOrEqual(DAY);
    return text;
  }

  /** Listens as a tab does, for a while. The numbers of its events grow. */
  async function listen(): Promise<void> {
    const leaving = new AbortController();
    const path = `${life.task.path}/events`;
    const response = await simulation.current.request({ path, signal: leaving.signal });
    if (response.status !== 200) return void (await response.text());
    const tab = readEvents(response);
    let last = 0;
    const reading = (async () => {
      for (let one = await tab.nextEvent(); !one.stopped; one = await tab.nextEvent()) {
        if (one.id !== undefined) expect(Number(one.id), "an event is repeated").toBeGreaterThan(last);
        last = Number(one.id ?? last);
      }
    })();
    await pass(random.below(30) * SECOND + SECOND);
    leaving.abort();
    await Promise.race([reading, settle()]);
  }

  async function erase(): Promise<void> {
    await simulation.current.plugin.userData?.eraseUser({}, USER);
  }

  async function resend(): Promise<void> {
    life.resent += await simulation.current.resend();
  }
}

type Life = Awaited<ReturnType<typeof openLife>>;
type Act = () => Promise<unknown>;

/** Runs an act. A process that ends meanwhile, or a database that fails, may leave it without a response. */
async function take(life: Life, name: string, act: Act): Promise<void> {
  life.plan.push(name);
  const { simulation } = life;
  const before = simulation.faults + simulation.crashes;
  const ended = act().catch((error: Error) => {
    if (simulation.faults + simulation.crashes === before) throw error;
    if (error.name === "AssertionError") throw error;
  });
  await Promise.race([ended, settle(100)]);
}

function listActs(life: Life): readonly (readonly [name: string, act: Act])[] {
  const { random, simulation, poll, listen, erase, resend } = life;
  return [
    ["poll", poll],
    ["poll", poll],
    ["listen", listen],
    ["wait", () => pass(random.below(120) * SECOND + SECOND)],
    ["sleep", async () => random.rarely(0.2) && (await pass(random.below(8) * HOUR + SECOND))],
    ["crash", simulation.crash],
    ["cut a poll", () => cut(poll)],
    ["cut what is due", () => cut(() => pass(MINUTE))],
    ["remove", () => remove(life)],
    [
      "erase",
      () =>
        eraseAndBegin(
          life,
          random.one([erase, () => cut(erase), () => Promise.all([erase(), pass(20 * SECOND)])]),
        ),
    ],
    ["resend", resend],
  ];

  /** Lets the process end at one of the next operations. */
  async function cut(act: Act): Promise<void> {
    simulation.operationsUntilCrash = 1 + random.below(10);
    await Promise.race([act().catch(() => {}), settle(60)]);
    simulation.operationsUntilCrash = Number.POSITIVE_INFINITY;
  }
}

async function remove(life: Life): Promise<void> {
  if (!life.random.rarely(0.2)) return;
  life.task.isRemoved = true;
  await life.simulation.current.request({ method: "DELETE", path: `${life.task.path}/events` });
}

async function eraseAndBegin(life: Life, act: Act): Promise<void> {
  const { random, simulation, erase, begin } = life;
  if (!random.rarely(0.1)) return;
  await Promise.race([act().catch(() => {}), settle(60)]);
  simulation.isFaulty = false;
  await erase();
  expect(await simulation.current.exportUser(), "an erased user").toMatchObject({ items: [] });
  for (const table of TABLES.slice(0, 3))
    expect(await simulation.current.count(table), `rows of an erased user in ${table}`).toBe(0);
  simulation.isFaulty = true;
  life.erasures += 1;
  await begin();
}

/** Fifty acts of a user. The video is ready after fifteen. */
async function live(life: Life): Promise<void> {
  const { random, simulation, begin } = life;
  await begin();
  for (let nth = 0; nth < 50; nth += 1) {
    if (nth === 15) for (const gateway of simulation.gateways.values()) gateway.isOver = true;
    if (nth > 15) life.task.gateway.isOver = true;
    const [name, act] = random.one(listActs(life));
    await take(life, name, act);
    await take(life, "time", () => pass(20 * SECOND));
  }
}

/** The gateway, the database and the app are well: the video is told. Some are never ready. */
async function recover(life: Life, isNeverReady: boolean): Promise<string> {
  const { simulation, poll, resend, task } = life;
  simulation.isFaulty = false;
  task.gateway.isWell = true;
  task.gateway.isOver = !isNeverReady;
  for (let nth = 0; nth < 8; nth += 1) {
    await pass(10 * MINUTE);
    await poll();
  }
  for (let nth = 0; nth < 3; nth += 1) await pass(15 * HOUR);
  await resend();
  for (let nth = 0; nth < 2; nth += 1) await pass(15 * HOUR);
  expect(await simulation.current.listDeadLetters()).toEqual([]);
  return await poll();
}

/** Each end is told, and in truth. */
function checkEnds({ simulation, task, resent }: Life, shown: string, isNeverReady: boolean): boolean {
  const { events, webhooks, booked, lies, crashes, faults } = simulation;
  const { gateway } = task;
  const ends = events.filter(({ job, taskId }) => job === "watch" && taskId === task.gatewayId);
  expect(lies).toEqual([]);
  const hooks = webhooks.filter((hook) => hook.task === task.id);
  const ids = [...new Set(hooks.map(({ type, id }) => `${type} ${id}`))];
  expect(new Set(ids.map((text) => text.split(" ")[0])).size, `two ids of one end: ${ids}`).toBe(ids.length);
  // an end that another one has replaced is not told any more
  const newest = hooks.at(-1)?.id ?? "";
  if (newest) {
    expect(
      hooks.some(({ id, isAccepted }) => id === newest && isAccepted),
      "no webhook is accepted",
    ).toBe(true);
    expect(booked, "the function of the app").toContain(newest.slice("msg_".length));
  }
  const accepted = hooks.filter(({ isAccepted }) => isAccepted).map(({ id }) => id);
  if (crashes + faults + resent === 0) expect(new Set(accepted).size, "is told twice").toBe(accepted.length);
  const videos = hooks.filter(({ type }) => type === "video.succeeded");
  if (!isNeverReady) expect(shown).toContain(gateway.last);
  if (shown.includes("SUCCESS")) expect(videos.length, "the video is not told").toBeGreaterThan(0);
  if (!task.isRemoved)
    for (const { hasFile } of videos) expect(hasFile, "is told without its file").toBe(true);
  if (videos.length > 0 && crashes + faults === 0 && !task.isRemoved)
    expect(ends.filter(({ outcome }) => outcome === "complete")).toHaveLength(1);
  return videos.length > 0;
}

/** No two polls of a task are closer together than the interval. */
function checkPolls({ simulation }: Life): void {
  for (const { polls } of simulation.gateways.values())
    for (const [nth, at] of polls.slice(1).entries())
      expect(at - (polls[nth] ?? 0), "is polled too often").toBeGreaterThanOrEqual(15 * SECOND);
}

/** No client returns: in the end nothing is left, and nothing is polled. */
async function forget({ simulation, task, erase }: Life, isErased: boolean): Promise<void> {
  if (isErased) await erase();
  for (let nth = 0; nth < 20; nth += 1) await pass(4 * DAY);
  const { length } = task.gateway.polls;
  for (const table of TABLES) expect(await simulation.current.count(table), `rows in ${table}`).toBe(0);
  await pass(DAY);
  expect(task.gateway.polls).toHaveLength(length);
}

const seen = { crashes: 0, faults: 0, erasures: 0, removed: 0, delivered: 0 };
const PARTS = 4;

test.each(Array.from({ length: PARTS }, (_, part) => part))(
  "no order of polls, faults, crashes, erasures and acts of users loses a video, polls too often, or goes on for ever, part %i (cases 90, 129 and 156)",
  async (part) => {
    for (let seed = SEED + part; seed < SEED + countRuns(RUNS); seed += PARTS) await play(seed);
  },
);

test.runIf(countRuns(RUNS) >= RUNS)(
  "these orders have enough ends, crashes, faults, erasures and removals",
  () => {
    expect(seen.delivered).toBeGreaterThan(6);
    expect(seen.crashes).toBeGreaterThan(50);
    expect(seen.faults).toBeGreaterThan(20);
    expect(seen.erasures).toBeGreaterThan(0);
    expect(seen.removed).toBeGreaterThan(0);
  },
);

async function play(seed: number): Promise<void> {
  const life = await openLife(seed);
  const isNeverReady = seed % 5 === 0;
  try {
    await live(life);
    const shown = await recover(life, isNeverReady);
    seen.delivered += Number(checkEnds(life, shown, isNeverReady));
    checkPolls(life);
    await forget(life, seed % 3 === 0);
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${life.plan.join(", ")}`, { cause: error });
  } finally {
    await life.simulation.current.close().catch(() => {});
  }
  seen.crashes += life.simulation.crashes;
  seen.faults += life.simulation.faults;
  seen.erasures += life.erasures;
  seen.removed += Number(life.task.isRemoved);
}
