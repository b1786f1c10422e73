import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { streamLog } from "@sluice/durable";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { readerOf } from "../../worker-proxy/test/support/event-stream.js";
import { expectLog } from "../../worker-proxy/test/support/expected-log.js";
import { chat } from "../../worker-proxy/test/support/in-process.js";
import { gateway, ledger, refusal } from "./support/durable-gateway.js";
import {
  idOf,
  liveAnswer,
  objectOf,
  openPaidProxy,
  openProxy,
  turn,
  wholeAnswer,
} from "./support/streams.js";

expectLog("streamLogObject:", "503 budget_unavailable", "502 upstream_redirect", "502 upstream_unreachable");

const usage = { total_tokens: 7 };
const piece = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
const end = `${finish}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`;
const words = () => ledger.entries.map(([word]) => word);
let tests = 0;
/** A key that no other test uses. */
let keyed: { readonly headers: { readonly "idempotency-key": string } };

beforeEach(() => {
  ledger.answers();
  keyed = { headers: { "idempotency-key": `key-${++tests}` } };
});
afterEach(() => {
  vi.useRealTimers();
});

describe("case 51: one stream is paid for once", () => {
  test("however many requests with its idempotency-key come, together and later", async () => {
    wholeAnswer(piece + end);
    const { ask } = openPaidProxy();
    const five = await Promise.all(Array.from({ length: 5 }, () => ask(keyed)));
    for (const answer of five) expect(await answer.text()).toContain("[DONE]");
    expect(await (await ask(keyed)).text()).toContain("[DONE]");
    expect(gateway.requests).toHaveLength(1);
    expect(ledger.entries.slice(1)).toEqual([["settle", usage]]);
  });

  test("A stream is paid by the usage at its end, though its only reader has left", async () => {
    const answer = liveAnswer();
    const client = new AbortController();
    const response = await openPaidProxy().ask({ signal: client.signal });
    answer.send(piece);
    await readerOf(response).until('"a"');
    client.abort();
    answer.send(end);
    answer.end();
    await expect.poll(() => ledger.entries.length === 2).toBe(true);
    expect(ledger.entries[1]).toEqual(["settle", usage]);
  });

  test("The meter of a stream knows the user, the model and the body", async () => {
    wholeAnswer(piece + end);
    const user = { id: "Zoë", session: "s-1", address: "192.0.2.7" };
    const { ask } = openPaidProxy({ authenticate: () => user });
    await (await ask()).text();
    const body = { ...chat, stream: true };
    expect(ledger.entries[0]).toEqual(["reserve", { user, route: "chat", model: "delta-5.3", body }]);
  });
});

describe("case 50: a request that the log refuses costs nothing", () => {
  test("A bad key, another body, too many readers, a bad place or an unknown stream cost nothing", async () => {
    liveAnswer();
    const { ask, resume, stop } = openPaidProxy();
    const id = idOf(await ask(keyed));
    for (let nth = 2; nth <= 8; nth += 1) await resume(id);
    const refused = [
      await ask({ headers: { "idempotency-key": "a b" } }),
      await ask({ ...keyed, body: { ...chat, stream: true, temperature: 1 } }),
      await ask(keyed),
      await resume(id, 3),
      await resume("0".repeat(32)),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 422, 429, 400, 404]);
    expect(words()).toEqual(["reserve"]);
    await stop(id);
  });

  test("A request without budget is 429, and may come again", async () => {
    wholeAnswer(piece + end);
    ledger.answers(() => ({ retryAfterMs: 90_500 }));
    const { ask } = openPaidProxy();
    const refused = await ask(keyed);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "91"]);
    expect(await refused.json()).toMatchObject({ error: { code: "budget_exhausted" } });
    expect(gateway.requests).toHaveLength(0);
    ledger.answers();
    expect(await (await ask(keyed)).text()).toContain("[DONE]");
    expect(words()).toEqual(["reserve", "settle"]);
  });

  test("A meter that fails is 503, and nothing is sent to the gateway", async () => {
    wholeAnswer(piece + end);
    ledger.answers(() => {
      throw new Error("no ledger");
    });
    const refused = await openPaidProxy().ask();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: "budget_unavailable" } });
    expect(gateway.requests).toHaveLength(0);
  });

  test("A meter of the proxy alone is 500, with the cause in the log", async () => {
    wholeAnswer(piece + end);
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const refused = await openProxy({ plugins: [ledger.meter, streamLog(() => env.STREAM_LOG)] }).ask();
    expect(refused.status).toBe(500);
    expect(await refused.json()).toMatchObject({ error: { code: "misconfigured" } });
    expect(log.mock.calls.join()).toContain("streamLogObject: has no meter");
    expect([gateway.requests.length, words()]).toEqual([0, []]);
    log.mockRestore();
  });
});

describe("what was reserved is released", () => {
  test.each([
    ["refuses", () => refusal(429)],
    ["answers with a redirect", () => refusal(302)],
    [
      "can't be reached",
      () => {
        throw new Error("no route");
      },
    ],
    ["fails at once", () => new Response('data: {"error":{"message":"no"}}\n\n', events)],
  ] as const)("when the gateway %s", async (_, answer) => {
    gateway.answers(answer);
    await (await openPaidProxy().ask()).text();
    expect(words()).toEqual(["reserve", "release"]);
  });
});

describe("all that was reserved is spent", () => {
  test("An answer that breaks off spends its reservation", async () => {
    wholeAnswer(piece);
    await (await openPaidProxy().ask()).text();
    expect(ledger.entries.slice(1)).toEqual([["settle", undefined]]);
  });

  test("A stopped answer spends its reservation, also where it has no reader", async () => {
    const { ask, stop } = openPaidProxy();
    liveAnswer().send(piece);
    await stop(idOf(await ask()));
    const client = new AbortController();
    liveAnswer().send(piece);
    const id = idOf(await ask({ signal: client.signal }));
    client.abort();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    await runDurableObjectAlarm(await objectOf(id, env.PAID_STREAM_LOG));
    const settled = ["settle", undefined];
    expect(ledger.entries.filter(([word]) => word !== "reserve")).toEqual([settled, settled]);
  });
});

test("an answer that is no stream is settled by its usage", async () => {
  gateway.answers(() => Response.json({ id: "1", choices: [], usage }));
  expect(await (await openPaidProxy().ask()).json()).toMatchObject({ usage });
  expect(ledger.entries.slice(1)).toEqual([["settle", usage]]);
});

const events = { headers: { "content-type": "text/event-stream" } };
