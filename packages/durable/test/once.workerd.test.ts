import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type ObjectNamespace, once, videoEvents } from "@sluice/durable";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gateway, ledger, refusal, task } from "./support/durable-gateway.js";
import { answersCreates, creates, objectOf, openOnceProxy, openPaidOnce, tablesOf } from "./support/once.js";
import { turn } from "./support/streams.js";

const DAY = 86_400_000;
const START = Date.UTC(2040, 0, 1);
const kinds = Object.keys(creates) as (keyof typeof creates)[];
let tests = 0;
/** A key that no other test uses. */
let key = "";
let lines: string[] = [];

beforeEach(() => {
  key = `key-${++tests}`;
  lines = [];
  // a time that never comes by itself: alarms ring when a test says so
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  ledger.answers();
  answersCreates();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Holds the gateway's answer back; what an object waits for, it has to make in its own time. */
function heldAnswer() {
  let isHeld = true;
  gateway.answers(async () => {
    while (isHeld) await turn();
    return Response.json({ data: [], usage: { total_tokens: 7 } });
  });
  return () => {
    isHeld = false;
  };
}

const asked = (requests = 1) => expect.poll(() => gateway.requests.length).toBe(requests);
const codeOf = ({ status, error }: { status: number; error: Record<string, string> | undefined }) => [
  status,
  error?.["code"],
];

describe("case 100: a create that comes again with its key is paid once", () => {
  test.each(kinds)(
    "A create that comes again as %s has the same answer, also after its object was evicted",
    async (kind) => {
      const { ask } = openOnceProxy();
      const first = await ask({ kind, key });
      expect(first.status).toBe(200);
      await evictDurableObject(await objectOf(key));
      const second = await ask({ kind, key });
      expect([second.status, second.text]).toEqual([200, first.text]);
      expect(second.headers.get("x-request-id")).toBe("gateway-1");
      expect(gateway.requests).toHaveLength(1);
      expect(gateway.requests[0]?.headers.has("idempotency-key")).toBe(false);
    },
  );

  test("Ten creates at once are paid by one reservation that is settled once", async () => {
    const answer = heldAnswer();
    const { ask } = openPaidOnce();
    const ten = Array.from({ length: 10 }, () => ask({ key }));
    await asked();
    answer();
    const texts = (await Promise.all(ten)).map(({ text }) => text);
    expect(new Set(texts).size).toBe(1);
    expect((await ask({ key })).text).toBe(texts[0]);
    expect(gateway.requests).toHaveLength(1);
    expect(ledger.entries.map(([word]) => word)).toEqual(["reserve", "settle"]);
    expect(ledger.entries[1]).toEqual(["settle", { total_tokens: 7 }]);
  });

  test("A client that leaves while it waits does not end the create for others", async () => {
    const answer = heldAnswer();
    const { ask } = openPaidOnce();
    const client = new AbortController();
    const left = ask({ key, signal: client.signal });
    await asked();
    const other = ask({ key });
    client.abort();
    expect((await left).status).toBe(408);
    answer();
    expect((await other).status).toBe(200);
    expect((await ask({ key })).status).toBe(200);
    expect(gateway.requests).toHaveLength(1);
    expect(ledger.entries.map(([word]) => word)).toEqual(["reserve", "settle"]);
  });

  test("A key is remembered for a day from the first request; then it begins anew", async () => {
    const { ask } = openOnceProxy();
    for (const at of [0, DAY - 1]) {
      vi.setSystemTime(START + at);
      await ask({ key });
    }
    expect(gateway.requests).toHaveLength(1);
    vi.setSystemTime(START + DAY);
    await ask({ key });
    expect(gateway.requests).toHaveLength(2);
  });

  test("also where the proxy's secret has changed in between", async () => {
    await openOnceProxy().ask({ key });
    const changed = openOnceProxy({ secret: () => "another secret of the proxy's, 32 and more" });
    expect((await changed.ask({ key })).status).toBe(200);
    expect(gateway.requests).toHaveLength(1);
  });

  test("The film is watched once, by a watch that the second answer does not begin anew", async () => {
    const watch = env.BRISK_WATCH as unknown as ObjectNamespace;
    const { ask } = openOnceProxy({
      plugins: [once(() => env.ONCE), videoEvents(() => watch, { startOn: "create" })],
    });
    let created = 0;
    gateway.answers(({ method }) => {
      if (method !== "POST") return task("IN_PROGRESS");
      return Response.json({ id: `film-${++created}`, status: "queued" });
    });
    const first = await ask({ kind: "video", key });
    const object = env.BRISK_WATCH.get(env.BRISK_WATCH.idFromName(`${await hashOf("user-1")}:film-1`));
    const alarmAt = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    vi.setSystemTime(START + 60_000);
    await runDurableObjectAlarm(object);
    const at = await alarmAt();
    expect((await ask({ kind: "video", key })).text).toBe(first.text);
    expect(await alarmAt()).toBe(at);
    expect(gateway.requests.map(({ method }) => method)).toEqual(["POST", "GET"]);
  });
});

describe("case 101: a key belongs to its user and to one request", () => {
  test("Another user's key finds nothing", async () => {
    const { ask } = openOnceProxy();
    const one = await ask({ kind: "video", key });
    const other = await ask({ kind: "video", key, user: "user-2" });
    expect(gateway.requests).toHaveLength(2);
    expect(other.text).not.toBe(one.text);
  });

  test("Another body and another kind are 422, in flight and later, and nothing is sent", async () => {
    const answer = heldAnswer();
    const { ask } = openPaidOnce();
    const first = ask({ key });
    await asked();
    const others = [
      { kind: "video", key },
      { key, body: { ...creates.image[1], prompt: "a fish" } },
    ] as const;
    for (const other of others) expect(codeOf(await ask(other))).toEqual([422, "idempotency_mismatch"]);
    answer();
    await first;
    for (const other of others) expect(codeOf(await ask(other))).toEqual([422, "idempotency_mismatch"]);
    expect(gateway.requests).toHaveLength(1);
    expect(ledger.entries).toHaveLength(2);
  });

  test("A key of another shape is 400, and a request without one is sent each time", async () => {
    const { ask } = openOnceProxy();
    for (const wrong of ["a b", "k".repeat(256), ""])
      expect(codeOf(await ask({ key: wrong }))).toEqual([400, "idempotency_key_invalid"]);
    expect(gateway.requests).toHaveLength(0);
    for (let nth = 0; nth < 2; nth += 1) expect((await ask()).status).toBe(200);
    expect(gateway.requests).toHaveLength(2);
  });
});

test("the offer is on each create, on its refusals and on /health", async () => {
  const { send } = openOnceProxy();
  const paths = kinds.map((kind) => ["POST", creates[kind][0]] as const);
  for (const [method, path] of [...paths, ["GET", "/health"] as const]) {
    const { headers } = await send(new Request(`https://proxy.example${path}`, { method }));
    expect(headers.get("x-sluice-offers")).toBe("once");
  }
});

describe("case 102: a request whose object was lost is never sent again", () => {
  /** Leaves the rows as an object does that is lost while the gateway works. */
  async function lose(ask: ReturnType<typeof openOnceProxy>["ask"]) {
    await ask({ key });
    const object = await objectOf(key);
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("DELETE FROM parts");
      storage.sql.exec("UPDATE requests SET status = NULL, headers = NULL");
    });
    await evictDurableObject(object);
  }

  test("The same error answers the key for a day, with a line in the log", async () => {
    const { ask } = openOnceProxy();
    await lose(ask);
    answersCreates();
    for (const at of [0, 1000, DAY - 1]) {
      vi.setSystemTime(START + at);
      expect(codeOf(await ask({ key }))).toEqual([502, "request_lost"]);
    }
    expect(gateway.requests).toHaveLength(0);
    expect(lines.filter((line) => line.includes("was lost with its object"))).toHaveLength(1);
  });

  test("The alarm says so where nobody asks again, and deletes the request after a day", async () => {
    const { ask } = openOnceProxy();
    await lose(ask);
    const object = await objectOf(key);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(lines.some((line) => line.includes("was lost with its object"))).toBe(true);
    expect(await tablesOf(key)).toHaveLength(2);
    vi.setSystemTime(START + DAY);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await tablesOf(key)).toEqual([]);
  });
});

describe("case 103: what costs nothing frees its key", () => {
  test.each([400, 401, 402, 403, 404, 413, 422, 429])("a refusal with %i", async (status) => {
    const { ask } = openPaidOnce();
    gateway.answers(() => refusal(status));
    expect((await ask({ key })).status).toBeGreaterThanOrEqual(400);
    answersCreates();
    expect((await ask({ key })).status).toBe(200);
    expect(ledger.entries.map(([word]) => word)).toEqual(["reserve", "release", "reserve", "settle"]);
  });

  test("a refusal leaves nothing stored, and is said in the gateway's words", async () => {
    const { ask } = openOnceProxy();
    gateway.answers(() =>
      Response.json({ error: { message: "no", code: "x", param: "prompt" } }, { status: 400 }),
    );
    const refused = await ask({ key });
    expect(refused.error).toMatchObject({ message: "no", code: "x", param: "prompt" });
    expect(refused.headers.get("x-sluice-source")).toBe("upstream");
    expect(await tablesOf(key)).toEqual([]);
  });

  test("a connection that was never made, where the host says so", async () => {
    const { ask } = openPaidOnce();
    gateway.answers(() => Promise.reject(new TypeError("failed", { cause: { code: "ECONNREFUSED" } })));
    expect((await ask({ key })).status).toBe(502);
    answersCreates();
    expect((await ask({ key })).status).toBe(200);
  });

  test("a budget that is used up, and a meter that fails", async () => {
    const { ask } = openPaidOnce();
    ledger.answers(() => ({ retryAfterMs: 90_500 }));
    const refused = await ask({ key });
    expect(codeOf(refused)).toEqual([429, "budget_exhausted"]);
    expect(refused.headers.get("retry-after")).toBe("91");
    ledger.answers(() => {
      throw new Error("no ledger");
    });
    expect(codeOf(await ask({ key }))).toEqual([503, "budget_unavailable"]);
    expect(gateway.requests).toHaveLength(0);
    ledger.answers();
    expect((await ask({ key })).status).toBe(200);
  });

  test("an object without the proxy's meter: 500, and nothing is sent", async () => {
    const { ask } = openOnceProxy({ plugins: [ledger.meter, once(() => env.ONCE)] });
    expect(codeOf(await ask({ key }))).toEqual([500, "misconfigured"]);
    expect(gateway.requests).toHaveLength(0);
    expect(lines.join("\n")).toContain("give both the same `meter`");
  });

  test("several that wait for one refusal get it, and the next is sent", async () => {
    let isHeld = true;
    gateway.answers(async () => {
      while (isHeld) await turn();
      return refusal(429);
    });
    const { ask } = openOnceProxy();
    const three = [ask({ key }), ask({ key }), ask({ key })];
    await asked();
    isHeld = false;
    expect((await Promise.all(three)).map(({ status }) => status)).toEqual([429, 429, 429]);
    expect(gateway.requests).toHaveLength(1);
    answersCreates();
    expect((await ask({ key })).status).toBe(200);
  });
});

describe("case 104: what may have cost is kept, also as an error", () => {
  const html = { "content-type": "text/html" };
  const json = { "content-type": "application/json" };
  test.each<readonly [string, () => Response | Promise<Response>]>([
    ...[408, 500, 502, 503, 504, 520, 524].map((status) => [`${status}`, () => refusal(status)] as const),
    ["503 with a Retry-After of days", () => refusal(503, { "retry-after": "604800" })],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "https://a.example/" } })],
    ["a page", () => new Response("<h1>sign in</h1>", { headers: html })],
    ["nothing", () => new Response(null, { headers: json })],
    ["204", () => new Response(null, { status: 204 })],
    ["JSON that was cut", () => new Response('{"data":[', { headers: json })],
    ["a connection that breaks at once", () => Promise.reject(new TypeError("Network connection lost."))],
  ])("%s", async (_, answer) => {
    const { ask } = openPaidOnce();
    gateway.answers(answer);
    const first = await ask({ key });
    expect(first.status).toBeGreaterThanOrEqual(400);
    answersCreates();
    const second = await ask({ key });
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers.get("retry-after")).toBe(first.headers.get("retry-after"));
    expect(gateway.requests).toHaveLength(0);
    expect(ledger.entries).toHaveLength(2);
  });

  test("an answer of several rows comes back whole", async () => {
    const { ask } = openOnceProxy();
    const data = [{ b64_json: "x".repeat(3_900_000) }];
    gateway.answers(() => Response.json({ data }));
    const first = await ask({ key });
    await evictDurableObject(await objectOf(key));
    expect((await ask({ key })).text === first.text).toBe(true);
    expect(gateway.requests).toHaveLength(1);
  });

  test("an answer that is too large reaches those who wait, and its key sends nothing again", async () => {
    const { ask } = openOnceProxy();
    const data = [{ b64_json: "x".repeat(4_000_000) }];
    gateway.answers(() => Response.json({ data }));
    const two = await Promise.all([ask({ key }), ask({ key })]);
    expect(two.map(({ status, text }) => [status, text.length > 4_000_000])).toEqual([
      [200, true],
      [200, true],
    ]);
    expect(codeOf(await ask({ key }))).toEqual([502, "answer_not_kept"]);
    expect(gateway.requests).toHaveLength(1);
    expect(lines.some((line) => line.includes("see answerBytes"))).toBe(true);
  });
});

describe("case 105: what is kept is bounded", () => {
  test("An alarm leaves nothing after a day and at most an hour more", async () => {
    await openOnceProxy().ask({ key });
    const object = await objectOf(key);
    const alarmAt = () => runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    const at = Number(await alarmAt()) - START;
    expect(at >= DAY && at <= DAY + 3_600_000).toBe(true);
    vi.setSystemTime(START + at);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect([await tablesOf(key), await alarmAt()]).toEqual([[], null]);
  });

  test("An alarm that comes too early leaves the work to the next one", async () => {
    await openOnceProxy().ask({ key });
    const object = await objectOf(key);
    await runDurableObjectAlarm(object);
    const at = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    expect(Number(at)).toBeGreaterThanOrEqual(START + DAY);
    expect(await tablesOf(key)).toHaveLength(2);
  });

  test("The rows have neither the key of the gateway nor the body of the request", async () => {
    await openOnceProxy().ask({ key });
    const stored = await runInDurableObject(await objectOf(key), (_, { storage }) =>
      JSON.stringify(storage.sql.exec("SELECT * FROM requests").toArray()),
    );
    expect(stored).toContain("gateway-1");
    expect(stored).not.toContain("a bird");
  });

  test("Rows of a later version are not read: 503, and nothing is sent", async () => {
    const { ask } = openOnceProxy();
    await ask({ key });
    const object = await objectOf(key);
    await runInDurableObject(object, (_, { storage }) => {
      storage.sql.exec("UPDATE version SET number = 2");
    });
    await evictDurableObject(object);
    expect((await ask({ key })).status).toBe(503);
    expect(gateway.requests).toHaveLength(1);
  });
});
