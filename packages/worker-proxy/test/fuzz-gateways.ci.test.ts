import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, startAttacked, stream } from "./support/attacked.js";
import { containsKey } from "./support/contains-key.js";
import { manyValues, UNLISTED, unlistedBody } from "./support/fuzz-bodies.js";
import { type Behaviour, oneStream } from "./support/fuzz-gateways.js";
import { KEY } from "./support/key.js";
import { countRuns, openRandom, SEED } from "./support/random.js";
import { json, reply } from "./support/raw-gateway.js";

const AT_ONCE = 12;
/** The largest `max_tokens`, which a chat gets that has none, and so reserves. */
const RESERVED = 1000;

let proxy: Awaited<ReturnType<typeof startAttacked>>;
beforeAll(async () => {
  proxy = await startAttacked({
    heapMB: 128,
    plan: { budget: { user: 1_000_000 } },
    options: {
      limits: { maxTokens: RESERVED, maxBodyBytes: 8 * 1024 * 1024 },
      timeout: { chunkMs: 2000 },
    },
  });
});
afterAll(() => proxy.close());

const streams = countRuns(60, 0.1);
test(`however a gateway responds, each request gets a response, and none is charged without a bill (seed ${SEED}) (case 49)`, {
  timeout: 30_000 + streams * 50,
}, async () => {
  const random = openRandom(SEED);
  const behaviours = new Map<string, Behaviour>();
  proxy.upstream.respondWith((socket, { body }) => behaviours.get(body.messages[0].content)?.respond(socket));
  const outcomes = new Set<string>();
  for (let run = 0; run < streams; run += AT_ONCE) {
    const users = Array.from({ length: AT_ONCE }, (_, nth) => `user-${run + nth}`);
    for (const user of users) behaviours.set(user, oneStream(random));
    await Promise.all(
      users.map(async (user) => {
        const behaviour = behaviours.get(user) as Behaviour;
        outcomes.add(behaviour.name);
        await attempt(user, behaviour).catch((cause) => {
          throw new Error(`seed ${SEED}, ${user}: a gateway that responds ${behaviour.name}`, { cause });
        });
      }),
    );
    behaviours.clear();
  }
  expect(proxy.isAlive()).toBe(true);
  if (streams >= 200) expect(outcomes.size).toBeGreaterThan(28);
});

async function attempt(user: string, { bill, isWhole }: Behaviour): Promise<void> {
  const body = { ...stream, messages: [{ role: "user", content: user }] };
  const response = await proxy.send(user, body, { signal: AbortSignal.timeout(20_000) });
  const text = await response.text();
  expect(containsKey(text + [...response.headers].join("\n"), KEY)).toBe(false);
  if (isWhole) {
    expect(response.status).toBe(200);
    expect(text).toContain("stop");
    expect(text).not.toContain("event: error");
  } else if (response.status === 200) {
    expect(text).toContain("event: error");
    expect(text).not.toContain("[DONE]");
  } else {
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(JSON.parse(text).error.code).toMatch(/^\w+$/);
  }
  const spent = await proxy.spent(user);
  if (bill === "any") expect(spent).toBeLessThanOrEqual(RESERVED);
  else expect(spent).toBe(bill === "all" ? RESERVED : bill);
}

const bodies = countRuns(96, 0.15);
test(`no field that is not listed reaches the gateway (seed ${SEED}) (case 52)`, {
  timeout: 30_000 + bodies * 20,
}, async () => {
  const random = openRandom(SEED);
  proxy.upstream.respondWith(reply(json('{"id":"1"}')));
  const statuses = new Set<number>();
  for (let run = 0; run < bodies; run += AT_ONCE) {
    const sent = Array.from({ length: AT_ONCE }, () => unlistedBody(random));
    const responses = await Promise.all(sent.map((body) => proxy.call("ada", body)));
    for (const { status } of responses) statuses.add(status);
    for (const { text } of proxy.upstream.requests.splice(0))
      if (text.includes(UNLISTED))
        throw new Error(`seed ${SEED}: ${text} came of one of ${JSON.stringify(sent)}`);
  }
  expect([...statuses].sort()).toEqual([200, 400]);
});

const large = countRuns(4, 0.006);
test(`bodies of millions of values end nothing (seed ${SEED}) (case 48)`, {
  timeout: 30_000 + large * 2000,
}, async () => {
  const random = openRandom(SEED);
  proxy.upstream.respondWith(reply(json('{"id":"1"}')));
  for (let run = 0; run < large; run += 2) {
    const sent = [manyValues(random), manyValues(random), JSON.stringify(chat)];
    const statuses = await Promise.all(sent.map(async (body) => (await proxy.call("ada", body)).status));
    expect(statuses).toEqual([400, 400, 200]);
    expect(proxy.isAlive()).toBe(true);
  }
});
