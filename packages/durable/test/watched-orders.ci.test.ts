import { beforeEach, expect, test, vi } from "vitest";
import { readEvents } from "../../worker-proxy/test/support/event-stream.js";
import { countRuns, openRandom, SEED } from "../../worker-proxy/test/support/random.js";
import type { SimulatedGateway } from "./support/simulated-gateway.js";
import { simulateWatch, USER } from "./support/simulated-watch.js";
import { DAY, HOUR, jump, MINUTE, SECOND, settle, stopClock } from "./support/watched.js";

/* Random orders of polls, faults, crashes and user actions: each paid video is reported, and every watch ends. */

stopClock();
beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => {}));

const RUNS = 12;
const TABLES = ["video_watches", "video_ends", "dead_letters", "timers"];

/** Advances the time by `ms`. Slow work may continue during the next action. */
const pass = (ms: number) => jump(ms, 4);

interface Task {
  readonly path: string;
  readonly id: string;
  readonly gatewayId: string;
  readonly gateway: SimulatedGateway;
  isRemoved: boolean;
}

/** A user with one task at a time. */
async function openScenario(seed: number) {
  const random = openRandom(seed);
  vi.spyOn(Math, "random").mockImplementation(() => random.below(1000) / 1000);
  const simulation = await simulateWatch(random);
  const scenario = {
    ...{ random, simulation, erasures: 0, resent: 0, begin, poll, listen, erase, resend },
    task: undefined as unknown as Task,
    /** Names of the actions so far, for the message of a failure. */
    log: [] as string[],
  };
  return scenario;

  async function begin(): Promise<void> {
    const { isFaulty } = simulation;
    // a watch that fails to start has no webhook: store it without faults
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
    scenario.task = { id, gatewayId, gateway, path: `/v1/video/generations/${id}`, isRemoved: false };
  }

  /** Polls as a page does. The response shows only ends that the gateway has shown. */
  async function poll(): Promise<string> {
    const { gateway, path } = scenario.task;
    const text = await (await simulation.current.request({ path })).text();
    if (text.includes("task_not_found"))
      expect(gateway.mayBeAbsent, "the response calls the task unknown").toBe(true);
    if (text.includes("watch_timeout")) expect(Date.now() - gateway.startedAt).toBeGreaterThanOrEqual(DAY);
    return text;
  }

  /** Reads events as a tab does, for a while. The ids of the events increase. */
  async function listen(): Promise<void> {
    const disconnect = new AbortController();
    const path = `${scenario.task.path}/events`;
    const response = await simulation.current.request({ path, signal: disconnect.signal });
    if (response.status !== 200) return void (await response.text());
    const tab = readEvents(response);
    let last = 0;
    const reading = (async () => {
      for (let event = await tab.nextEvent(); !event.stopped; event = await tab.nextEvent()) {
        if (event.id !== undefined) expect(Number(event.id), "an event is repeated").toBeGreaterThan(last);
        last = Number(event.id ?? last);
      }
    })();
    await pass(random.below(30) * SECOND + SECOND);
    disconnect.abort();
    await Promise.race([reading, settle()]);
  }

  async function erase(): Promise<void> {
    await simulation.current.plugin.userData?.eraseUser({}, USER);
  }

  async function resend(): Promise<void> {
    scenario.resent += await simulation.current.resend();
  }
}

type Scenario = Awaited<ReturnType<typeof openScenario>>;
type Action = () => Promise<unknown>;

/** Runs an action. A crash or a database failure may leave the action without a response. */
async function run(scenario: Scenario, name: string, action: Action): Promise<void> {
  scenario.log.push(name);
  const { simulation } = scenario;
  const before = simulation.faults + simulation.crashes;
  const done = action().catch((error: Error) => {
    if (simulation.faults + simulation.crashes === before) throw error;
    if (error.name === "AssertionError") throw error;
  });
  await Promise.race([done, settle(100)]);
}

function listActions(scenario: Scenario): readonly (readonly [name: string, action: Action])[] {
  const { random, simulation, poll, listen, erase, resend } = scenario;
  return [
    ["poll", poll],
    ["poll", poll],
    ["listen", listen],
    ["wait", () => pass(random.below(120) * SECOND + SECOND)],
    ["sleep", async () => random.rarely(0.2) && (await pass(random.below(8) * HOUR + SECOND))],
    ["crash", simulation.crash],
    ["crash during a poll", () => crashDuring(poll)],
    ["crash during due jobs", () => crashDuring(() => pass(MINUTE))],
    ["remove", () => remove(scenario)],
    [
      "erase",
      () =>
        eraseAndBegin(
          scenario,
          random.one([erase, () => crashDuring(erase), () => Promise.all([erase(), pass(20 * SECOND)])]),
        ),
    ],
    ["resend", resend],
  ];

  /** Lets the process crash at one of the next operations. */
  async function crashDuring(action: Action): Promise<void> {
    simulation.operationsUntilCrash = 1 + random.below(10);
    await Promise.race([action().catch(() => {}), settle(60)]);
    simulation.operationsUntilCrash = Number.POSITIVE_INFINITY;
  }
}

async function remove(scenario: Scenario): Promise<void> {
  if (!scenario.random.rarely(0.2)) return;
  scenario.task.isRemoved = true;
  await scenario.simulation.current.request({ method: "DELETE", path: `${scenario.task.path}/events` });
}

async function eraseAndBegin(scenario: Scenario, action: Action): Promise<void> {
  const { random, simulation, erase, begin } = scenario;
  if (!random.rarely(0.1)) return;
  await Promise.race([action().catch(() => {}), settle(60)]);
  simulation.isFaulty = false;
  await erase();
  expect(await simulation.current.exportUser(), "an erased user").toMatchObject({ items: [] });
  for (const table of TABLES.slice(0, 3))
    expect(await simulation.current.count(table), `rows of an erased user in ${table}`).toBe(0);
  simulation.isFaulty = true;
  scenario.erasures += 1;
  await begin();
}

/** Runs fifty random actions. The video is ready after fifteen. */
async function runActions(scenario: Scenario): Promise<void> {
  const { random, simulation, begin } = scenario;
  await begin();
  for (let nth = 0; nth < 50; nth += 1) {
    if (nth === 15) for (const gateway of simulation.gateways.values()) gateway.isOver = true;
    if (nth > 15) scenario.task.gateway.isOver = true;
    const [name, action] = random.one(listActions(scenario));
    await run(scenario, name, action);
    await run(scenario, "time", () => pass(20 * SECOND));
  }
}

/** Ends all faults, and waits for the report of the video. Returns the last response of the gateway. */
async function recover(scenario: Scenario, isNeverReady: boolean): Promise<string> {
  const { simulation, poll, resend, task } = scenario;
  simulation.isFaulty = false;
  task.gateway.isHealthy = true;
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

/** Expects that the app received each end, and no false end. Returns true if it received the video. */
function checkEnds({ simulation, task, resent }: Scenario, shown: string, isNeverReady: boolean): boolean {
  const { events, webhooks, handledEnds, falseEvents, crashes, faults } = simulation;
  const { gateway } = task;
  const ends = events.filter(({ job, taskId }) => job === "watch" && taskId === task.gatewayId);
  expect(falseEvents).toEqual([]);
  const hooks = webhooks.filter((hook) => hook.task === task.id);
  const ids = [...new Set(hooks.map(({ type, id }) => `${type} ${id}`))];
  expect(new Set(ids.map((text) => text.split(" ")[0])).size, `two ids of one end: ${ids}`).toBe(ids.length);
  // a newer end replaces an older end, which is then not delivered
  const newest = hooks.at(-1)?.id ?? "";
  if (newest) {
    expect(
      hooks.some(({ id, isAccepted }) => id === newest && isAccepted),
      "no webhook is accepted",
    ).toBe(true);
    expect(handledEnds, "the function of the app").toContain(newest.slice("msg_".length));
  }
  const accepted = hooks.filter(({ isAccepted }) => isAccepted).map(({ id }) => id);
  if (crashes + faults + resent === 0)
    expect(new Set(accepted).size, "an end is delivered twice").toBe(accepted.length);
  const videos = hooks.filter(({ type }) => type === "video.succeeded");
  if (!isNeverReady) expect(shown).toContain(gateway.last);
  if (shown.includes("SUCCESS")) expect(videos.length, "the video is not reported").toBeGreaterThan(0);
  if (!task.isRemoved)
    for (const { hasFile } of videos) expect(hasFile, "the video is reported without its file").toBe(true);
  if (videos.length > 0 && crashes + faults === 0 && !task.isRemoved)
    expect(ends.filter(({ outcome }) => outcome === "complete")).toHaveLength(1);
  return videos.length > 0;
}

/** Expects the interval between all polls of a task. */
function checkPolls({ simulation }: Scenario): void {
  for (const { polls } of simulation.gateways.values())
    for (const [nth, at] of polls.slice(1).entries())
      expect(at - (polls[nth] ?? 0), "is polled too often").toBeGreaterThanOrEqual(15 * SECOND);
}

/** Expects that all rows are deleted at last and no more polls follow, without a client. */
async function checkCleanup({ simulation, task, erase }: Scenario, isErased: boolean): Promise<void> {
  if (isErased) await erase();
  for (let nth = 0; nth < 20; nth += 1) await pass(4 * DAY);
  const { length } = task.gateway.polls;
  for (const table of TABLES) expect(await simulation.current.count(table), `rows in ${table}`).toBe(0);
  await pass(DAY);
  expect(task.gateway.polls).toHaveLength(length);
}

const totals = { crashes: 0, faults: 0, erasures: 0, removed: 0, delivered: 0 };
const PARTS = 4;

test.each(Array.from({ length: PARTS }, (_, part) => part))(
  "no order of polls, faults, crashes, erasures and user actions loses a video, polls too often, or runs for ever, part %i (cases 90, 129 and 156)",
  async (part) => {
    for (let seed = SEED + part; seed < SEED + countRuns(RUNS); seed += PARTS) await checkSeed(seed);
  },
);

test.runIf(countRuns(RUNS) >= RUNS)(
  "these orders have enough ends, crashes, faults, erasures and removals",
  () => {
    expect(totals.delivered).toBeGreaterThan(6);
    expect(totals.crashes).toBeGreaterThan(50);
    expect(totals.faults).toBeGreaterThan(20);
    expect(totals.erasures).toBeGreaterThan(0);
    expect(totals.removed).toBeGreaterThan(0);
  },
);

async function checkSeed(seed: number): Promise<void> {
  const scenario = await openScenario(seed);
  const isNeverReady = seed % 5 === 0;
  try {
    await runActions(scenario);
    const shown = await recover(scenario, isNeverReady);
    totals.delivered += Number(checkEnds(scenario, shown, isNeverReady));
    checkPolls(scenario);
    await checkCleanup(scenario, seed % 3 === 0);
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${scenario.log.join(", ")}`, {
      cause: error,
    });
  } finally {
    await scenario.simulation.current.close().catch(() => {});
  }
  totals.crashes += scenario.simulation.crashes;
  totals.faults += scenario.simulation.faults;
  totals.erasures += scenario.erasures;
  totals.removed += Number(scenario.task.isRemoved);
}
