import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { HOUR, openBudget, openFile, START, setClock, usage } from "./support/budget-proxy.js";

expectLog(
  "502 upstream_",
  "503 budget_unavailable",
  "504 upstream_",
  "the proxy's operator sets `routes`",
  "a reservation could not be settled",
  "a reservation of 10 could not be given back",
  "1 reservations, of 10, were not settled in time",
  "1 reservations, of 60, were not settled in time",
);

beforeEach(() => setClock());

/** The longest time of a response, and so the shortest of a reservation. */
const QUARTER = 15 * 60 * 1000;
const RESET = START + 50 * 60 * 1000;
/** Spies on the log, which tests of its lines read. */
const readLog = () => {
  const lines: string[] = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  onTestFinished(() => void vi.restoreAllMocks());
  return lines;
};
describe("a user's budget", () => {
  test("lets one of fifty requests at once pass if there is money for one", async () => {
    const { chat, sent, budgets } = openBudget({ options: { limits: { user: 10 } } });
    const all = await Promise.all(Array.from({ length: 50 }, () => chat("ann", { max_tokens: 10 })));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(all.filter(({ status }) => status === 429)).toHaveLength(49);
    expect(sent).toHaveLength(1);
    expect(await budgets()).toMatchObject([{ spent: 30, reserved: 0 }]);
  });

  test("refuses with 429, the time until the window ends, and an event that names the limit (case 96)", async () => {
    const { chat, events, paid } = openBudget();
    await paid(100);
    const { status, error, headers } = await chat();
    expect([status, error?.["code"], headers.get("retry-after")]).toEqual([429, "budget_exhausted", "3000"]);
    expect(error?.["message"]).toBe("the budget of this user is used up; try again in 3000 s");
    expect(events).toMatchObject([{ status: 429, code: "budget_exhausted", budget: "user" }]);
    vi.setSystemTime(RESET - 1);
    expect((await chat()).headers.get("retry-after")).toBe("1");
    vi.setSystemTime(RESET);
    expect((await chat("ann", { max_tokens: 100 })).status).toBe(200);
  });

  test("is each user's own", async () => {
    const { paid } = openBudget();
    await paid(100);
    await paid(100, "bob");
  });

  test("is read at GET /v1/budget, and leaves no row for a user who only reads", async () => {
    const { budgets, chat, paid, request, count } = openBudget({
      options: { limits: { user: 100, session: 50, address: 70, all: 1000 } },
    });
    expect(await budgets()).toHaveLength(2);
    expect(await count()).toEqual([0, 0, 0, 0]);
    await chat("ann", {}, { "x-session": "phone" });
    await paid(10);
    const own = { unit: "tokens", resetsAt: RESET };
    expect(await budgets()).toEqual([
      { by: "user", ...own, limit: 100, spent: 30, reserved: 10, remaining: 60 },
      { by: "session", ...own, limit: 50, spent: 0, reserved: 10, remaining: 40 },
    ]);
    expect((await request("", "/v1/budget")).status).toBe(401);
  });

  test("can be exceeded by a request that cost more than was reserved, and then lets nothing pass", async () => {
    const { paid, reserve, state } = openBudget();
    await (await paid(100)).settle({ total_tokens: 130 });
    expect(await reserve(0)).toHaveProperty("retryAfterMs");
    expect(await state()).toMatchObject({ spent: 130, remaining: 0 });
  });

  test("may depend on the user", async () => {
    const limits = { user: ({ user }: { user: { id: string } }) => (user.id === "rich" ? 1000 : 5) };
    const { reserve } = openBudget({ options: { limits } });
    expect(await reserve(10, "poor")).toHaveProperty("retryAfterMs");
    expect(await reserve(900, "rich")).toHaveProperty("settle");
  });

  test("responds with 503 and sends nothing if the database fails", async () => {
    const opened = openBudget();
    await opened.close();
    const { status, error } = await opened.chat();
    expect([status, error?.["code"]]).toEqual([503, "budget_unavailable"]);
    expect((await opened.request("ann", "/v1/budget")).status).toBe(503);
    expect(opened.sent).toHaveLength(0);
  });

  test.each([
    ["the estimate", { reserve: () => Number.NaN }],
    ["the limit", { limits: { user: () => Number.POSITIVE_INFINITY } }],
  ])("responds with 503 and sends nothing if %s is no number", async (_, options) => {
    const { chat, sent } = openBudget({ options });
    expect((await chat()).status).toBe(503);
    expect(sent).toHaveLength(0);
  });
});

const page = (status: number) =>
  new Response("<!doctype html><h1>Down</h1>", { status, headers: { "content-type": "text/html" } });
const piece = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
const failure = 'event: error\ndata: {"error":{"message":"overloaded"}}\n\n';
const last = 'data: {"choices":[],"usage":{"total_tokens":30}}\n\n';
function stream(events: readonly string[], isCut = false): Response {
  const left = events.map((event) => new TextEncoder().encode(event));
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = left.shift();
      if (next) controller.enqueue(next);
      else if (isCut) controller.error(new Error("cut"));
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

describe("the end of a request decides what is spent", () => {
  test.each<[string, number, () => Response | Promise<Response>]>([
    ["a JSON response", 30, () => usage(30)],
    ["a stream", 30, () => stream([piece, finish, last, "data: [DONE]\n\n"])],
    ["a stream that is cut behind its usage", 30, () => stream([piece, finish, last], true)],
    ["a refused connection", 0, () => Promise.reject(new TypeError("", { cause: { code: "ECONNREFUSED" } }))],
    ["a connection that breaks off", 60, () => Promise.reject(new Error("Network connection lost."))],
    ["400", 0, () => Response.json({ error: { message: "no" } }, { status: 400 })],
    ["429", 0, () => new Response("{}", { status: 429, headers: { "retry-after": "86400" } })],
    ["500", 0, () => page(500)],
    ["a redirect", 0, () => new Response(null, { status: 302, headers: { location: "/" } })],
    ["a page", 0, () => page(200)],
    ["a stream that begins with an error", 0, () => stream([failure])],
    ["JSON that is an error", 0, () => Response.json({ error: { message: "overloaded" } })],
    ["a response that quotes the key", 30, () => Response.json({ usage: { total_tokens: 30 }, note: KEY })],
    ["no usage", 60, () => stream([piece, finish, "data: [DONE]\n\n"])],
    ["a usage of null", 60, () => Response.json({ choices: [], usage: null })],
    ["a cut", 60, () => stream([piece], true)],
    ["a cut behind a usage so far", 60, () => stream([piece, last, piece], true)],
    ["an error behind content", 60, () => stream([piece, failure])],
    ["504", 60, () => page(504)],
  ])("%s: %i of 60", async (_, spent, gateway) => {
    const { chat, budgets } = openBudget({
      options: { limits: { user: 100, address: 100 } },
      gateway,
    });
    await chat("ann", { max_tokens: 60, stream: true });
    expect(await budgets()).toMatchObject([{ spent, reserved: 0 }]);
  });

  test.each([
    ["the cost is no number", { total_tokens: "many" }],
    ["there is no cost", {}],
    ["the cost is null", { total_tokens: null }],
    ["the cost is zero", { total_tokens: 0 }],
    ["the cost is below zero", { total_tokens: -5 }],
  ])("spends all that was reserved if %s", async (_, given) => {
    const { paid, state } = openBudget();
    await (await paid(60)).settle(given);
    expect(await state()).toMatchObject({ spent: 60, reserved: 0 });
  });

  test("counts a usage that can't be true as ten times the reservation, and logs it once (case 95)", async () => {
    const lines = readLog();
    const max = Number.MAX_SAFE_INTEGER;
    const { chat, budgets } = openBudget({
      options: { limits: { user: 1000 } },
      gateway: async (request) => usage(((await request.json()) as { seed: number }).seed),
      proxy: { allowFields: ["seed"] },
    });
    await chat("ann", { seed: max });
    expect(await budgets()).toMatchObject([{ spent: 100 }]);
    await chat("ann", { seed: 100 });
    expect(await budgets()).toMatchObject([{ spent: 200 }]);
    expect(lines).toEqual([expect.stringContaining(`delta-5.3 cost user ann ${max}, and 10 were reserved`)]);
  });

  test("spends all that was reserved if the gateway takes too long, or the client leaves first", async () => {
    const late = openBudget({
      gateway: () => new Promise(() => {}),
      proxy: { timeout: { firstChunkMs: 20 } },
    });
    expect((await late.chat("ann", { max_tokens: 60 })).status).toBe(504);
    await expect.poll(() => late.budgets()).toMatchObject([{ spent: 60, reserved: 0 }]);
    const left = openBudget({ gateway: () => stream([piece, ...Array(1000).fill(piece)]) });
    const client = new AbortController();
    const body = {
      model: "delta-5.3",
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 60,
      stream: true,
    };
    const init = { method: "POST", body: JSON.stringify(body), signal: client.signal };
    const response = await left.send("ann", "/v1/chat/completions", init);
    const reader = response.body?.getReader();
    await reader?.read();
    client.abort();
    await reader?.cancel();
    await expect.poll(() => left.budgets()).toMatchObject([{ spent: 60, reserved: 0 }]);
  });

  test("keeps its sums exact at the largest numbers that a database stores", async () => {
    const max = Number.MAX_SAFE_INTEGER;
    const { paid, state, plugin } = openBudget({ options: { limits: { user: max } } });
    await plugin.raise("user", { env: {}, user: { id: "ann" } }, max);
    const one = await paid(1e15);
    const two = await paid(1e15);
    await one.settle({ total_tokens: max });
    await two.settle({ total_tokens: max });
    expect(await state()).toMatchObject({ spent: max, reserved: 0, remaining: 0 });
  });

  test("settles once", async () => {
    const { paid, state, plugin } = openBudget();
    const one = await paid(60);
    await one.settle({ total_tokens: 20 });
    await one.settle({ total_tokens: 20 });
    await one.release();
    await plugin.settleTicket?.(one.ticket ?? "", undefined, {});
    expect(await state()).toMatchObject({ spent: 20, reserved: 0 });
  });
});

describe("if the database fails", () => {
  /** Makes an operation of the budgets fail, as after a lost connection. */
  function spyOn({ plugin }: ReturnType<typeof openBudget>, name: string) {
    const operation = plugin.storage?.operations.find((one) => one.name === name);
    onTestFinished(() => void vi.restoreAllMocks());
    return vi.spyOn(operation as never as { run(): Promise<unknown> }, "run");
  }
  const away = new Error("the connection of 10.0.0.1 is lost");

  test("a request is refused and costs nothing, and the response does not name the cause", async () => {
    const opened = openBudget();
    spyOn(opened, "budget.reserve").mockRejectedValueOnce(away);
    const { status, text } = await opened.chat();
    expect([status, text.includes("10.0.0.1"), opened.sent.length]).toEqual([503, false, 0]);
    expect(await opened.budgets()).toMatchObject([{ spent: 0, reserved: 0 }]);
  });

  test("a response is settled by a second attempt", async () => {
    const opened = openBudget();
    spyOn(opened, "budget.settle").mockRejectedValueOnce(away);
    expect((await opened.chat("ann", { max_tokens: 60 })).status).toBe(200);
    expect(await opened.budgets()).toMatchObject([{ spent: 30, reserved: 0 }]);
  });

  test("the log names what a refused request could not give back", async () => {
    const lines = readLog();
    const opened = openBudget({ options: { limits: { user: 100, all: 5 } } });
    spyOn(opened, "budget.settle").mockRejectedValue(away);
    expect((await opened.chat("ann", { max_tokens: 60 })).status).toBe(429);
    expect(lines.join()).toMatch(/budget: .* of 60 .* Error: the connection of 10\.0\.0\.1 is lost/);
    expect(await opened.budgets()).toMatchObject([{ reserved: 60 }]);
  });

  test("a response that can't be settled spends its whole reservation at the deadline", async () => {
    const opened = openBudget({ options: { windowMs: 24 * HOUR } });
    const settle = spyOn(opened, "budget.settle").mockRejectedValue(away);
    expect((await opened.chat("ann", { max_tokens: 60 })).status).toBe(200);
    expect(await opened.budgets()).toMatchObject([{ spent: 0, reserved: 60 }]);
    settle.mockRestore();
    vi.setSystemTime(START + HOUR);
    expect(await opened.budgets()).toMatchObject([{ spent: 60, reserved: 0 }]);
  });
});

describe("several limits", () => {
  const all = { limits: { user: 100, session: 90, address: 50, all: 10_000 } };

  test("reserve in all or in none", async () => {
    const { paid, reserve, state } = openBudget({ options: all });
    const at = { user: { id: "ann", address: "192.0.2.1" } };
    await paid(40, "ann", at);
    expect(await reserve(20, "ann", at)).toEqual({
      retryAfterMs: 3_000_000,
      budget: "address",
      isShared: true,
    });
    const address = { address: "192.0.2.1" };
    const left = [state(), state("session"), state("address", "", address), state("all")];
    expect((await Promise.all(left)).map(({ remaining }) => remaining)).toEqual([60, 50, 10, 9960]);
  });

  test("settle and release in all", async () => {
    const { paid, state } = openBudget({ options: all });
    await (await paid(40)).settle({ total_tokens: 3 });
    await (await paid(40)).release();
    const spent = await Promise.all(["user", "session", "address", "all"].map((name) => state(name)));
    expect(spent.map(({ spent, reserved }) => [spent, reserved])).toEqual(Array(4).fill([3, 0]));
  });

  test("count each session, and a request without one as a session", async () => {
    const { paid, reserve, state } = openBudget({ options: { limits: { user: 100, session: 30 } } });
    const on = (session: string, id = "ann") => ({ user: { id, session } });
    await paid(30, "ann", on("phone"));
    expect(await reserve(1, "ann", on("phone"))).toMatchObject({ budget: "session", isShared: false });
    await paid(30, "ann", on("laptop"));
    await paid(20);
    expect([(await state("session")).remaining, (await state()).remaining]).toEqual([10, 20]);
    await paid(30, "bob", on("phone", "bob"));
  });

  test("get `shared_budget_exhausted` if other users have spent it, and the user's own limit first (case 96)", async () => {
    const { chat } = openBudget({ options: { limits: { all: 5, user: 100 } } });
    expect((await chat()).error?.["code"]).toBe("shared_budget_exhausted");
    const both = openBudget({ options: { limits: { all: 5, user: 5 } } });
    expect((await both.chat()).error?.["code"]).toBe("budget_exhausted");
  });

  test("hold visitors of one address together, however many ids they get", async () => {
    const { reserve } = openBudget({ options: { limits: { user: 20, address: 50 } } });
    const given = await Promise.all(
      Array.from({ length: 20 }, (_, nth) =>
        reserve(10, `guest-${nth}`, { user: { id: `guest-${nth}`, address: "192.0.2.1" } }),
      ),
    );
    expect(given.filter((one) => "settle" in one)).toHaveLength(5);
  });

  test("take an IPv6 address as its network", async () => {
    const { paid, state } = openBudget({ options: { limits: { address: 100 } } });
    const left = async (address: string) => (await state("address", "", { address })).remaining;
    for (const address of ["2001:db8:0:7::1", "2001:0DB8:0000:0007:ffff:ffff:ffff:ffff", "2001:db8:0:7::"])
      await paid(10, "ann", { user: { id: "ann", address } });
    expect([await left("2001:db8:0:7:a::"), await left("2001:db8:0:8::1")]).toEqual([70, 100]);
    await paid(10, "ann", { user: { id: "ann", address: "::ffff:192.0.2.1" } });
    expect(await left("192.0.2.1")).toBe(90);
  });

  test("let a team spend together, and do not concern a user without one", async () => {
    const by = ({ user }: { user: { id: string } }) => (user.id === "guest" ? undefined : "red");
    const { paid, reserve, state } = openBudget({ options: { limits: { team: { limit: 30, by } } } });
    await paid(20, "ann");
    expect(await reserve(20, "bob")).toMatchObject({ budget: "team", isShared: true });
    await paid(500, "guest");
    await expect(state("team", "guest")).rejects.toThrow("limits.team: `by` returns no name");
  });

  test("give back what was reserved in one key if another key fails", async () => {
    const { paid, state, plugin } = openBudget({ options: { limits: { user: 100, all: 100 } } });
    await paid(10);
    const operation = plugin.storage?.operations.find(({ name }) => name === "budget.reserve");
    vi.spyOn(operation as never as { run(): Promise<void> }, "run").mockRejectedValueOnce(new Error("lost"));
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(paid(40)).rejects.toThrow("lost");
    expect([await state(), await state("all")]).toMatchObject([{ reserved: 10 }, { reserved: 10 }]);
  });
});

describe("a limit in several keys", () => {
  const shared = (limit: number) => ({ options: { limits: { all: { limit, shards: 4 } } } });

  test("never lets more than the limit pass, and leaves little of it", async () => {
    const { reserve, state } = openBudget(shared(4000));
    const given = await Promise.all(Array.from({ length: 500 }, () => reserve(10)));
    const passed = given.filter((one) => "settle" in one).length;
    expect(passed).toBeLessThanOrEqual(400);
    expect(passed).toBeGreaterThanOrEqual(300);
    expect(await state("all")).toMatchObject({ limit: 4000, reserved: passed * 10 });
  });

  test("counts each request in one key alone", async () => {
    const { paid, state, query } = openBudget(shared(4000));
    for (let nth = 0; nth < 20; nth += 1) await (await paid(10)).settle({ total_tokens: 3 });
    expect(await state("all")).toMatchObject({ spent: 60, reserved: 0 });
    expect((await query("SELECT key FROM budget_windows")).length).toBeGreaterThan(1);
  });

  test("is tried in two other keys if one has nothing left, and each key takes one transaction to settle (case 152)", async () => {
    const { paid, plugin, payable } = openBudget(shared(40));
    const counted = (name: string) =>
      vi.spyOn(
        plugin.storage?.operations.find((one) => one.name === name) as never as { run(): void },
        "run",
      );
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(Math, "random").mockReturnValue(0);
    await paid(10);
    const [reserves, settles] = [counted("budget.reserve"), counted("budget.settle")];
    await (await paid(10)).release();
    expect([reserves.mock.calls.length, settles.mock.calls.length]).toEqual([2, 1]);
    await Promise.all([paid(10), paid(10)]);
    reserves.mockClear();
    await expect(plugin.reserve(payable(10))).resolves.toHaveProperty("retryAfterMs");
    expect(reserves).toHaveBeenCalledTimes(3);
  });

  test("is raised and reset in all of them", async () => {
    const { paid, plugin } = openBudget(shared(4000));
    const everybody = { env: {}, user: { id: "" } };
    for (let nth = 0; nth < 20; nth += 1) await (await paid(10)).settle({ total_tokens: 3 });
    expect(await plugin.raise("all", everybody, 400)).toMatchObject({ limit: 4400, spent: 60 });
    expect(await plugin.reset("all", everybody)).toMatchObject({ limit: 4000, spent: 0 });
  });
});

describe("a window", () => {
  test("is not opened again by a clock that goes back, and forward again", async () => {
    const { paid, state } = openBudget();
    await (await paid(60)).settle({ total_tokens: 60 });
    for (const now of [START - HOUR, START - 72 * HOUR, START]) {
      vi.setSystemTime(now);
      await (await paid(10)).settle({ total_tokens: 10 });
    }
    expect(await state()).toMatchObject({ spent: 90, resetsAt: RESET });
  });

  test("counts what is settled after its end where it was reserved", async () => {
    const { paid, state } = openBudget({ options: { reservationTtlMs: 3 * HOUR } });
    const late = await paid(60);
    vi.setSystemTime(START + HOUR);
    await paid(10);
    await late.settle({ total_tokens: 60 });
    expect(await state()).toMatchObject({ spent: 0, reserved: 10 });
  });

  test("ends with a reset if a wrong clock opened it far ahead", async () => {
    const { paid, reserve, plugin } = openBudget();
    vi.setSystemTime(START + 10_000 * HOUR);
    await (await paid(100)).settle({ total_tokens: 100 });
    vi.setSystemTime(START);
    expect(await reserve(1)).toMatchObject({ retryAfterMs: 10_000 * HOUR + 3_000_000 });
    const reader = { env: {}, user: { id: "ann" } };
    expect(await plugin.reset("user", reader)).toMatchObject({ spent: 0, resetsAt: RESET });
    expect(await reserve(100)).toHaveProperty("settle");
  });

  test("leaves no row once it is over and everything is settled, though its user never returns", async () => {
    const { paid, plugin, count } = openBudget();
    await (await paid(10)).settle({ total_tokens: 5 });
    await plugin.raise("user", { env: {}, user: { id: "ann" } }, 5);
    const open = await paid(10);
    expect(await count()).toEqual([1, 1, 1, 1]);
    vi.setSystemTime(START + 3 * HOUR);
    await expect.poll(() => count()).toEqual([0, 0, 0, 0]);
    await open.settle(undefined);
    expect(await count()).toEqual([0, 0, 0, 0]);
  });
});

describe("a reservation without a settlement (case 94)", () => {
  test("is spent in full after its time, not before, and the log says so", async () => {
    const lines = readLog();
    const { paid, state } = openBudget({
      options: { limits: { user: 100, session: 100 }, windowMs: 24 * HOUR },
    });
    await paid(60);
    vi.setSystemTime(START + HOUR - 1);
    expect(await state()).toMatchObject({ spent: 0, reserved: 60 });
    vi.setSystemTime(START + HOUR);
    expect(await state()).toMatchObject({ spent: 60, reserved: 0 });
    await paid(10);
    expect(await state()).toMatchObject({ spent: 60, reserved: 10, remaining: 30 });
    expect(lines).toEqual([
      expect.stringMatching(/1 reservations, of 60, were not settled in time; they are spent: [\da-f-]{36}/),
    ]);
  });

  test("is not settled again by a response that ends later", async () => {
    readLog();
    const { paid, state } = openBudget({ options: { reservationTtlMs: QUARTER } });
    const late = await paid(60);
    vi.setSystemTime(START + QUARTER);
    await paid(10);
    await late.settle({ total_tokens: 5 });
    expect(await state()).toMatchObject({ spent: 60, reserved: 10 });
  });

  test("a request ends at most 100 of them, however many there are (case 93)", async () => {
    readLog();
    const options = { limits: { user: 1_000_000 }, reservationTtlMs: QUARTER };
    const { paid, state, query, count } = openBudget({ options });
    await paid(1);
    await query(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
      INSERT INTO budget_reservations SELECT key, 'open-' || i, name, resets_at, 1, ends_at FROM budget_reservations, n`);
    await query("UPDATE budget_windows SET reserved = 251");
    vi.setSystemTime(START + QUARTER);
    const counts: number[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      await paid(1);
      counts.push((await count())[1] ?? 0);
    }
    expect(counts).toEqual([152, 53, 3]);
    expect(await state()).toMatchObject({ spent: 251, reserved: 3 });
  });

  test("is found by an index beside 100,000 open reservations (case 93)", async () => {
    const { paid, query } = openBudget();
    await paid(1);
    const plan = await query(`EXPLAIN QUERY PLAN SELECT id, name FROM budget_reservations
      WHERE key = 'k' AND ends_at <= 1 ORDER BY ends_at LIMIT 100`);
    expect(JSON.stringify(plan)).toContain("budget_reservations_end");
    expect(JSON.stringify(plan)).not.toMatch(/SCAN|TEMP B-TREE/);
  });
});

describe("a ticket", () => {
  test("is stored before anything is reserved, and gives all of it back", async () => {
    const { plugin, payable, state } = openBudget({
      options: { limits: { user: 100, all: { limit: 1000, shards: 8 } } },
    });
    const stored: [string, number][] = [];
    const keepTicket = async (ticket: string, amount: number) => {
      expect(await state()).toMatchObject({ reserved: 0 });
      stored.push([ticket, amount]);
    };
    await plugin.reserve(payable(40, "ann", { keepTicket }));
    expect(await state("all")).toMatchObject({ reserved: 40 });
    expect(stored).toEqual([[expect.any(String), 40]]);
    await plugin.settleTicket?.(stored[0]?.[0] ?? "", 0, {});
    expect([await state(), await state("all")]).toMatchObject([
      { spent: 0, reserved: 0 },
      { spent: 0, reserved: 0 },
    ]);
  });

  test("reserves nothing if it could not be stored (case 189)", async () => {
    const { plugin, payable, state } = openBudget();
    const keepTicket = () => Promise.reject(new Error("away"));
    await expect(plugin.reserve(payable(40, "ann", { keepTicket }))).rejects.toThrow("away");
    expect(await state()).toMatchObject({ reserved: 0 });
  });

  test("is settled by another process, by what was spent or in full, and once", async () => {
    const file = openFile();
    const one = openBudget({ file });
    const tickets = [await one.paid(40), await one.paid(20)].map(({ ticket = "" }) => ticket);
    await one.close();
    const other = openBudget({ file });
    expect(await other.state()).toMatchObject({ reserved: 60 });
    await other.plugin.settleTicket?.(tickets[0] ?? "", 7, {});
    await other.plugin.settleTicket?.(tickets[1] ?? "", undefined, {});
    await other.plugin.settleTicket?.(tickets[0] ?? "", 40, {});
    expect(await other.state()).toMatchObject({ spent: 27, reserved: 0 });
  });
});

test("a reservation of a process that ended is spent in full by the next process", async () => {
  const file = openFile();
  const one = openBudget({ options: { windowMs: 24 * HOUR }, file });
  await one.paid(60);
  await one.close();
  vi.setSystemTime(START + HOUR);
  readLog();
  const other = openBudget({ options: { windowMs: 24 * HOUR }, file });
  expect(await other.reserve(50)).toHaveProperty("retryAfterMs");
  expect(await other.state()).toMatchObject({ spent: 60, reserved: 0 });
});

test("an operation that is repeated after a lost commit counts once (case 183)", async () => {
  const { plugin, paid, state } = openBudget();
  const operations = plugin.storage?.operations ?? [];
  for (const operation of operations.filter(({ kind }) => kind === "write")) {
    const { run } = operation as never as { run(...args: unknown[]): Promise<unknown> };
    vi.spyOn(operation as never as { run: typeof run }, "run").mockImplementation(async (...args) => {
      const first = await run(...args);
      const second = await run(...args);
      expect(second).toEqual(first);
      return second;
    });
  }
  onTestFinished(() => void vi.restoreAllMocks());
  await (await paid(60)).settle({ total_tokens: 20 });
  await paid(10);
  await plugin.raise("user", { env: {}, user: { id: "ann" } }, 50);
  expect(await state()).toMatchObject({ limit: 150, spent: 20, reserved: 10, remaining: 120 });
});
