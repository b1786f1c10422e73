import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { budget, eraseUser, type ObjectNamespace, type ObjectState, streamLog } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { gateway, jobs, ledger, purse } from "./support/durable-gateway.js";
import { objectOf as createOf, openPaidOnce } from "./support/once.js";
import { isWorkerd, workerdTest } from "./support/platform.js";
import { idOf, objectOf, openProxy, turn } from "./support/streams.js";

const { BUDGET, BOUNDED_STREAM_LOG, PAID_ONCE } = env;

let users = 0;
let user = "";
let log: MockInstance<typeof console.error>;

beforeEach(() => {
  purse.empty();
  user = `Bearer lost-${++users}`;
  log = vi.spyOn(console, "error").mockImplementation(() => {});
  gateway.answers(
    () => new Response("data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } }),
  );
});
afterEach(() => {
  ledger.over = undefined;
  vi.restoreAllMocks();
});

/** Passes a request to a budget's object. `send` may be called once. */
type Pass = (action: string, send: () => Promise<Response>) => Promise<Response>;

/** Budgets whose objects answer as late as the test wants, or as `pass` lets them. */
function openBudgets(pass?: Pass) {
  let isHeld = true;
  const late: Pass = async (_, send) => {
    const answer = await send();
    while (isHeld) await turn();
    return answer;
  };
  const held: ObjectNamespace = {
    idFromName: (name) => BUDGET.idFromName(name),
    get: (id) => ({
      async fetch(request) {
        const { do: action } = (await request.clone().json()) as { do: string };
        return (pass ?? late)(action, () => BUDGET.get(id).fetch(request));
      },
    }),
  };
  const options = {
    limits: { user: 1000, all: { limit: 1e9, shards: 4 } },
    windowMs: 86_400_000,
    reserveFor: () => 100,
  };
  purse.over = budget({ ...options, namespace: () => held });
  const seen = budget({ ...options, namespace: () => BUDGET as ObjectNamespace });
  return {
    release: () => {
      isHeld = false;
    },
    async amounts() {
      const own = { env: {}, user: { id: user } };
      const states = await Promise.all((["user", "all"] as const).map((by) => seen.ledger(by, own).read()));
      return states.map(({ reserved, spent }) => ({ reserved, spent }));
    },
  };
}

/** Ends an object as a crash does. */
async function lose(object: Awaited<ReturnType<typeof objectOf>>): Promise<void> {
  if (!isWorkerd) return await evictDurableObject(object as never);
  const abort = (_: unknown, state: object) => (state as { abort(reason: string): void }).abort("lost");
  await runInDurableObject(object, abort).catch(() => {});
}

describe("case 142: an object that is lost while it reserves", () => {
  workerdTest(
    "The object of a stream gives back what was set aside, as soon as its alarm comes, and says so",
    async () => {
      const { amounts, release } = openBudgets();
      const { ask } = openProxy({ plugins: [purse.meter, streamLog(() => BOUNDED_STREAM_LOG)] });
      const headers = { authorization: user, "idempotency-key": "lost" };
      const [, before = { reserved: 0, spent: 0 }] = await amounts();
      const asked = ask({ headers }).catch(() => {});
      await expect.poll(amounts).toEqual([
        { reserved: 100, spent: 0 },
        { ...before, reserved: before.reserved + 100 },
      ]);

      const id = await streamIdOf(user, "lost");
      await lose(await objectOf(id, BOUNDED_STREAM_LOG, user));
      release();
      await asked;
      await runDurableObjectAlarm(await objectOf(id, BOUNDED_STREAM_LOG, user));
      await expect.poll(amounts).toEqual([{ reserved: 0, spent: 0 }, before]);
      expect(jobs).toMatchObject([
        { id, outcome: "lost", code: "stream_interrupted", reserved: 100, spent: 0 },
      ]);
      expect(log.mock.calls.join()).toContain("what was reserved for it is given back");
      expect(gateway.requests).toHaveLength(0);
    },
  );

  test("A request whose reservation failed is charged nothing, though it could not be given back at first", async () => {
    const faults = { reserve: 1, settle: 4 };
    const { amounts } = openBudgets(async (action, send) => {
      if (action === "settle" && faults.settle-- > 0) throw new Error("no way to the ledger");
      const answer = await send();
      if (action === "reserve" && faults.reserve-- > 0) throw new Error("no way back");
      return answer;
    });
    const { ask } = openProxy({ plugins: [purse.meter, streamLog(() => BOUNDED_STREAM_LOG)] });
    const [, before = { reserved: 0, spent: 0 }] = await amounts();
    const refused = await ask({ headers: { authorization: user } });
    expect(await refused.json()).toMatchObject({ error: { code: "budget_unavailable" } });
    expect(await amounts()).toEqual([{ reserved: 0, spent: 0 }, before]);
    // each fault has come, and the settlement after them
    expect(faults.settle).toBeLessThan(0);
    expect(gateway.requests).toHaveLength(0);
  });

  test("The object of a create gives it back, too", async () => {
    const { amounts, release } = openBudgets();
    ledger.over = purse.over;
    const { ask } = openPaidOnce();
    const [, before = { reserved: 0, spent: 0 }] = await amounts();
    const asked = ask({ key: "lost", user }).catch(() => {});
    await expect.poll(amounts).toEqual([
      { reserved: 100, spent: 0 },
      { ...before, reserved: before.reserved + 100 },
    ]);
    const object = () => createOf("lost", user, PAID_ONCE);
    await lose(await object());
    release();
    await asked;
    await runDurableObjectAlarm(await object());
    await expect.poll(amounts).toEqual([{ reserved: 0, spent: 0 }, before]);
    expect(log.mock.calls.join()).toContain("a request was lost with its object");
    expect(gateway.requests).toHaveLength(0);
  });
});

describe("case 142: an operator who adds up what was spent counts each request once", () => {
  test("where the object of an answer is lost again and again before it could settle", async () => {
    const text = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":7}}\n\n';
    const init = { headers: { "content-type": "text/event-stream" } };
    gateway.answers(() => new Response(`${text}data: [DONE]\n\n`, init));
    const { ask } = openProxy({ plugins: [purse.meter, streamLog(() => BOUNDED_STREAM_LOG)] });
    purse.fails = true;
    const answer = await ask({ headers: { authorization: user } });
    await answer.text();
    await expect.poll(() => jobs).toMatchObject([{ outcome: "complete", spent: 7 }]);
    const object = () => objectOf(idOf(answer), BOUNDED_STREAM_LOG, user);
    for (let losses = 0; losses < 3; losses += 1) {
      await lose(await object());
      await runDurableObjectAlarm(await object());
    }
    purse.fails = false;
    await runDurableObjectAlarm(await object());
    await expect.poll(() => purse.reserved.size).toBe(0);
    expect(purse.spent).toEqual([7]);
    expect(jobs).toHaveLength(1);
  });

  workerdTest("and where several ask at once for a create that was lost", async () => {
    let isAsked = false;
    gateway.answers(() => {
      isAsked = true;
      return new Promise<Response>(() => {});
    });
    // a meter that takes its time
    const settleTicket = async () => {
      for (let turns = 0; turns < 20; turns += 1) await turn();
    };
    ledger.over = { ...purse.meter, settleTicket };
    const { ask } = openPaidOnce();
    const asked = ask({ key: "lost", user }).catch(() => {});
    await expect.poll(() => isAsked).toBe(true);
    await lose(await createOf("lost", user, PAID_ONCE));
    await asked;
    jobs.length = 0;
    await Promise.all([1, 2, 3].map(() => ask({ key: "lost", user })));
    expect(jobs).toMatchObject([{ kind: "create", outcome: "lost" }]);
  });
});

describe("case 165: an erasure while the meter fails", () => {
  const pieces = 'data: {"choices":[{"delta":{"content":"a secret plan"}}]}\n\n';
  const end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":7}}\n\n';
  const init = { headers: { "content-type": "text/event-stream" } };
  const extension = streamLog(() => BOUNDED_STREAM_LOG);
  const erase = () => eraseUser([extension], {}, user);
  const rowsOf = async (id: string) =>
    await runInDurableObject(await objectOf(id, BOUNDED_STREAM_LOG, user), (_, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'answer'").toArray().length === 0
        ? []
        : storage.sql.exec("SELECT seq, CAST(bytes AS TEXT) AS text, job FROM answer").toArray(),
    );
  const alarm = async (id: string) =>
    await runDurableObjectAlarm(await objectOf(id, BOUNDED_STREAM_LOG, user));

  test.each([
    ["that has ended", false, 7],
    ["that has ended, whose object is lost then", true, 7],
  ])(
    "deletes an answer %s, says that it isn't done, and the alarm settles it once",
    async (_, isLost, spent) => {
      gateway.answers(() => new Response(`${pieces}${end}data: [DONE]\n\n`, init));
      const { ask } = openProxy({ plugins: [purse.meter, extension] });
      purse.fails = true;
      const answer = await ask({ headers: { authorization: user } });
      expect(await answer.text()).toContain("a secret plan");
      const id = idOf(answer);
      await expect.poll(() => jobs).toMatchObject([{ id, outcome: "complete", spent }]);

      expect(await erase()).toEqual({ erased: [], failed: ["streams"] });
      expect(await rowsOf(id)).toMatchObject([{ seq: 0, text: null, job: expect.any(String) }]);
      expect([purse.reserved.size, purse.spent]).toEqual([1, []]);
      if (isLost) await lose(await objectOf(id, BOUNDED_STREAM_LOG, user));

      purse.fails = false;
      await alarm(id);
      await expect.poll(() => purse.reserved.size).toBe(0);
      expect([purse.spent, jobs.length]).toEqual([[spent], 1]);
      expect(await erase()).toEqual({ erased: ["streams"], failed: [] });
      expect(await rowsOf(id)).toEqual([]);
    },
  );

  test("ends an answer that is under way, and it is paid once the meter is back", async () => {
    gateway.answers(({ signal }) => {
      const body = new ReadableStream({
        start: (out) => out.enqueue(new TextEncoder().encode(pieces)),
        async pull() {
          while (!signal.aborted) await turn();
        },
      });
      return new Response(body, init);
    });
    const { ask } = openProxy({ plugins: [purse.meter, extension] });
    const answer = await ask({ headers: { authorization: user } });
    const id = idOf(answer);
    purse.fails = true;
    const [, erased] = await Promise.all([answer.text().catch(() => ""), erase()]);
    expect(erased).toEqual({ erased: [], failed: ["streams"] });
    expect(jobs).toMatchObject([{ id, outcome: "stopped" }]);
    purse.fails = false;
    await alarm(id);
    await expect.poll(() => [purse.reserved.size, purse.spent]).toEqual([0, [100]]);
    await expect.poll(() => rowsOf(id)).toEqual([]);
    expect(jobs).toHaveLength(1);
  });
});

test("An answer whose object is lost before and after its settlement stays, and its key sends nothing again", async () => {
  const { ask, resume } = openProxy({
    plugins: [purse.meter, streamLog(() => BOUNDED_STREAM_LOG)],
  });
  const headers = { authorization: user, "idempotency-key": "settled-late" };
  purse.fails = true;
  const first = await ask({ headers });
  const id = idOf(first);
  const text = await first.text();
  await expect.poll(() => log.mock.calls.join("\n")).toContain(`stream ${id} could not be settled`);
  purse.fails = false;
  const object = () => objectOf(id, BOUNDED_STREAM_LOG, user);
  await lose(await object());
  expect(await (await resume(id, 0, { headers })).text()).toBe(text);
  await expect.poll(() => purse.reserved.size).toBe(0);
  await lose(await object());
  // the alarm is that of the answer's last minute, and no more the one that was to settle it
  const alarmOf = (_: unknown, { storage }: ObjectState) => storage.getAlarm();
  const alarm = await runInDurableObject(await object(), alarmOf as never);
  expect(Number(alarm) - Date.now()).toBeGreaterThan(60_000);
  expect(await (await ask({ headers })).text()).toBe(text);
  expect(gateway.requests).toHaveLength(1);
});

/** The id of the stream that a user's key has. */
async function streamIdOf(name: string, key: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${name}\n${key}`);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...hash]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .slice(0, 32);
}
