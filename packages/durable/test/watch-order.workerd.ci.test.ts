import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom } from "../../worker-proxy/test/support/random.js";
import { alarmOf, ask, create, operator, ring, said, world } from "./support/notices.js";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let tests = 0;
let user = "";
const log = vi.spyOn(console, "error");

beforeEach(() => {
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2040, 0, 1) + ++tests * 200 * DAY });
  vi.spyOn(Math, "random").mockReturnValue(0);
  log.mockImplementation(() => {});
  user = `user-${tests}`;
  world.reset();
});
afterEach(() => {
  vi.useRealTimers();
  log.mockReset();
});

test("case 129: in any order of failures, evictions and what users do, each end is told once, and in truth", async () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const { below, rarely } = openRandom(seed);
    vi.setSystemTime(Date.UTC(2041, 0, 1) + seed * 200 * DAY);
    world.reset();
    user = `fuzz-${seed}`;
    const statuses = [204, 204, 204, 500, 503, 410, 404];
    world.app = () => new Response(null, { status: statuses[below(statuses.length)] as number });
    let isOver = false;
    world.task = () => {
      if (isOver && rarely(0.6)) return said("SUCCESS");
      if (rarely(0.5)) return said("QUEUED");
      return Response.json(
        { error: { message: "no" } },
        { status: [404, 400, 500, 401][below(4)] as number },
      );
    };
    const { watch, path, gatewayId } = await create(user);
    for (let step = 0; step < 60; step += 1) {
      if (step === 10) isOver = true;
      const action = below(8);
      // one that is not in memory can't be evicted, and need not be
      if (action === 0) await evictDurableObject(watch).catch(() => {});
      if (action === 2) await (await ask(user, path)).text();
      if (action === 3) vi.setSystemTime(Date.now() + below(120) * 1000);
      if (action === 4) {
        const { letters } = await operator.webhooks.listDeadLetters(operator.env);
        const mine = letters.find((letter) => letter.user === user);
        if (mine) await operator.webhooks.resend(operator.env, mine.id);
      }
      if (rarely(0.5)) continue;
      const at = await alarmOf(watch);
      if (at !== null && at - Date.now() < DAY) await ring(watch);
    }
    // everything that is left to do
    world.app = () => new Response(null, { status: 204 });
    world.task = () => said("SUCCESS");
    vi.setSystemTime(Date.now() + 2 * MINUTE);
    await (await ask(user, path)).text();
    for (let at = await alarmOf(watch); at !== null && at - Date.now() < 2 * DAY; at = await alarmOf(watch))
      await ring(watch);
    for (const letter of (await operator.webhooks.listDeadLetters(operator.env)).letters)
      if (letter.user === user)
        expect(await operator.webhooks.resend(operator.env, letter.id), `seed ${seed}`).toBe(true);
    await ring(watch);

    const of = (kind: string, ...outcomes: string[]) =>
      world.events.filter((event) => event.kind === kind && outcomes.includes(event.outcome));
    expect(
      world.events.every(({ taskId }) => taskId === gatewayId),
      `seed ${seed}`,
    ).toBe(true);
    // the film was there in the end, and that was told once
    expect(of("watch", "complete"), `seed ${seed}`).toHaveLength(1);
    const hooks = of("webhook", "complete").map(({ id }) => id);
    expect(new Set(hooks).size, `seed ${seed}`).toBe(hooks.length);
    const told = world.webhooks.filter(({ type }) => type === "video.succeeded");
    expect(new Set(told.map(({ id }) => id)).size, `seed ${seed}`).toBe(1);
  }
});
