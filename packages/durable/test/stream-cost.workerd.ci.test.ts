import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { streamLogObject } from "@sluice/durable";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";
import { placeOf } from "./support/places.js";
import { countedState } from "./support/rows.js";

beforeEach(
  () => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.UTC(2040, 0, 1) }),
);
afterEach(() => void vi.useRealTimers());

/** Prices of Cloudflare in dollars: a million rows written, a million requests, a million gigabyte-seconds. */
const PRICE = { rows: 1, requests: 0.15, gigabyteSeconds: 12.5 };
/** Memory that an object is charged for, in gigabytes: 128 MB, whatever it uses. */
const GIGABYTES = 0.128;

const piece = (nth: number) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `word ${nth} ` }, finish_reason: null }] })}\n\n`;
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

test("case 108: an answer of 30 s and 300 events writes at most 20 rows, and costs at most 60 dollars a million", async () => {
  let out!: ReadableStreamDefaultController<Uint8Array>;
  const StreamLog = streamLogObject({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    namespace: () => env.STREAM_LOG,
    fetch: async () =>
      new Response(
        new ReadableStream({
          start(controller) {
            out = controller;
          },
        }),
        { headers: { "content-type": "text/event-stream" } },
      ),
  });
  const stub = env.STREAM_LOG.get(env.STREAM_LOG.idFromName("cost of an answer"));
  const { rows, events } = await runInDurableObject(stub, async (_, state) => {
    const counted = countedState(state);
    const object = new StreamLog(counted.state, env);
    const caller = encodeURIComponent(
      JSON.stringify({ id: "cost", user: { id: "ada" }, isMetered: false, headers: {} }),
    );
    const body = JSON.stringify({ model: "delta-5.3", stream: true, messages: [] });
    const headers = { "x-sluice-caller": caller };
    const answer = await object.fetch(
      new Request("https://stream-log.invalid/", { method: "POST", body, headers }),
    );
    const text = answer.text();
    for (let nth = 1; nth <= 300; nth += 1) {
      out.enqueue(new TextEncoder().encode(piece(nth)));
      await vi.advanceTimersByTimeAsync(100);
    }
    out.enqueue(new TextEncoder().encode(end));
    out.close();
    await vi.advanceTimersByTimeAsync(100);
    return { rows: counted.rows, events: (await text).match(/^id: /gm)?.length };
  });
  expect(events).toBe(302);
  const written = rows.written + (await placeOf("ada")).written;
  expect(written).toBeLessThanOrEqual(20);
  // the request that begins it, the one for its end's code, two for its user's place, and the alarms that look after it
  const requests = 6;
  // the object is in memory as long as the answer
  const price = written * PRICE.rows + requests * PRICE.requests + 30 * GIGABYTES * PRICE.gigabyteSeconds;
  expect(price).toBeLessThanOrEqual(60);
});
