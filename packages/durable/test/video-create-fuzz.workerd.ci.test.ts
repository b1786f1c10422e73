import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { read } from "../../worker-proxy/test/support/key.js";
import {
  create,
  DAY,
  done,
  gatewaySays,
  polls,
  queued,
  SECOND,
  START,
  stopClock,
} from "./support/created-task.js";
import { refusal } from "./support/durable-gateway.js";

stopClock();

/** Answers of a gateway that has trouble, and whether they say that it does not know the task. */
const troubles: readonly (readonly [answer: () => Response | Promise<Response>, isAbsent?: boolean])[] = [
  [() => refusal(404), true],
  [() => refusal(404), true],
  [() => refusal(400)],
  [() => refusal(401)],
  [() => refusal(402)],
  [() => refusal(403)],
  [() => refusal(410)],
  [() => refusal(500)],
  [() => refusal(503, { "retry-after": "86400" })],
  [() => refusal(429, { "retry-after": new Date(START + 40 * DAY).toUTCString() })],
  [() => new Response("<html>", { headers: { "content-type": "text/html" } })],
  [() => Response.json({ code: "db_error" })],
  [() => Response.json([1])],
  [() => Promise.reject(new TypeError("connection lost"))],
  [queued],
  [queued],
];

test("case 90: no order of answers and of what users do loses a film, asks too often, or stops asking", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  for (let seed = 1; seed <= 40; seed += 1) {
    vi.setSystemTime(START);
    polls.length = 0;
    let random = seed;
    const pick = (count: number) => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * count);
    };
    const { object, ring, ask, status } = await create();
    /** The 404s in a row, and the first of them. */
    let absences = 0;
    let absentSince = 0;
    let mayBeAbsent = false;
    let hasEnded = false;
    gatewaySays(async () => {
      const [answer, isAbsent = false] = troubles[pick(troubles.length)] ?? [queued];
      if (answer === queued) absences = 0;
      if (isAbsent) {
        absences += 1;
        if (absences === 1) absentSince = Date.now();
        if (absences >= 5 && Date.now() - absentSince >= 5 * 60 * SECOND) mayBeAbsent = true;
      }
      return answer();
    });
    for (let step = 0; step < 25; step += 1) {
      const action = pick(8);
      if (action === 0) await evictDurableObject(object);
      if (action === 1) vi.setSystemTime(Date.now() + pick(40) * SECOND);
      if (action === 2) await (await ask("", { method: "GET" })).text();
      if (action === 3) {
        const leaving = new AbortController();
        await ask("/events", { signal: leaving.signal });
        leaving.abort();
      }
      const before = Date.now();
      if (!hasEnded) await ring();
      expect(Date.now() - before, `seed ${seed}`).toBeLessThanOrEqual(11 * 60 * SECOND);
      const { error } = await read(await ask());
      hasEnded = error?.code === "task_not_found";
      // the user is told that it is unknown only where the gateway has said so for minutes
      if (hasEnded) expect(mayBeAbsent, `seed ${seed}`).toBe(true);
    }
    const gaps = polls.slice(1).map((at, index) => at - (polls[index] as number));
    expect(Math.min(...gaps), `seed ${seed}`).toBeGreaterThanOrEqual(15 * SECOND);
    gatewaySays(done);
    vi.setSystemTime(Date.now() + 61 * SECOND);
    for (let count = 0; count < 3 && (await status()) !== "SUCCESS"; count += 1) {
      const before = Date.now();
      await ring();
      expect(Date.now() - before, `seed ${seed}`).toBeLessThanOrEqual(11 * 60 * SECOND);
    }
    expect(await status(), `seed ${seed}`).toBe("SUCCESS");
  }
});
