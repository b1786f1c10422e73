import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { countRuns, openRandom, type Random, SEED } from "../../worker-proxy/test/support/random.js";
import { type PostgresServer, startPostgres } from "./support/postgres-server.js";
import { openSharedProxy, RESERVED, type SharedProxy } from "./support/shared-proxies.js";
import { silenceLog } from "./support/stored-proxy.js";

/* Two processes on one Postgres. Their networks fail at random while users send, repeat, read and stop requests. */

/** Steps of one schedule. */
const STEPS = 80;
/** Tokens that the gateway reports for each response. */
const USAGE = 7;
const USERS = ["ann", "bob", "cid", "dan"];
/** The actions of a step. An action that is listed twice is twice as likely. */
const ACTS = [
  ...["chat", "chat", "chat", "image", "image", "read", "read", "stop"],
  ...["reset", "lose commit", "lose commit", "cut off", "wait"],
];

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.close());

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const event = (json: object) => new TextEncoder().encode(`data: ${JSON.stringify(json)}\n\n`);

/** Creates a gateway that counts its paid calls by `thing`, the prompt, which is also the idempotency key. */
function openGateway(random: Random) {
  const paid = new Map<string, number>();
  return { paid, fetch };

  async function fetch(request: Request): Promise<Response> {
    const body = (await request.json()) as { messages?: [{ content: string }]; prompt?: string };
    const thing = body.messages?.[0].content ?? `${body.prompt}`;
    paid.set(thing, (paid.get(thing) ?? 0) + 1);
    await pause(random.below(200));
    if (body.prompt !== undefined) {
      const data = [{ b64_json: thing }];
      return Response.json({ data, usage: { total_tokens: USAGE } });
    }
    return new Response(createEvents(random), { headers: { "content-type": "text/event-stream" } });
  }
}

/** Makes a stream that ends, is cut, or reports an error. */
function createEvents(random: Random): ReadableStream<Uint8Array> {
  const how = random.one(["end", "end", "end", "cut", "error"]);
  const pieces = 1 + random.below(5);
  let nth = 0;
  return new ReadableStream({
    async pull(controller) {
      await pause(random.below(150));
      nth += 1;
      if (nth <= pieces)
        return controller.enqueue(event({ choices: [{ index: 0, delta: { content: `${nth}` } }] }));
      if (how === "cut") return controller.error(new Error("the gateway has closed"));
      if (how === "error")
        controller.enqueue(
          new TextEncoder().encode('event: error\ndata: {"error":{"message":"overloaded"}}\n\n'),
        );
      else {
        const end = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
        controller.enqueue(event({ ...end, usage: { total_tokens: USAGE } }));
        controller.enqueue(new TextEncoder().encode("data: [DONE]\n\n"));
      }
      controller.close();
    },
  });
}

/** Runs random steps, and checks that each thing was paid once, has one result, and leaves no reservation. */
async function runSchedule(seed: number): Promise<void> {
  const random = openRandom(seed);
  const gateway = openGateway(random);
  const schema = `fuzz_${seed}`;
  const all: SharedProxy[] = [];
  const start = async () => {
    const opened = await openSharedProxy({ server, schema, fetch: gateway.fetch });
    onTestFinished(opened.close);
    all.push(opened);
    return opened;
  };
  let alive = [await start(), await start()];
  const wanted = new Set<string>();
  const streams = new Map<string, { readonly user: string; readonly id: string }>();
  const images = new Map<string, Set<string>>();
  const pending: Promise<unknown>[] = [];
  const chat = async (process: SharedProxy, user: string, thing: string) => {
    const response = await process.chat(user, thing, { key: thing, stream: true });
    const id = response.headers.get("x-stream-id");
    if (id) streams.set(thing, { user, id });
    await response.text();
  };
  const image = async (process: SharedProxy, user: string, thing: string) => {
    const response = await process.image(user, thing, thing);
    const text = await response.text();
    if (response.ok) images.set(thing, (images.get(thing) ?? new Set()).add(text));
  };
  for (let step = 0; step < STEPS; step += 1) {
    const process = random.one(alive);
    const user = random.one(USERS);
    const act = random.one(ACTS);
    const thing = `${user}-${act === "image" ? "image" : "chat"}-${random.below(5)}`;
    const stream = streams.get(thing);
    if (act === "chat" || act === "image") wanted.add(thing);
    if (act === "chat") pending.push(chat(process, user, thing));
    else if (act === "image") pending.push(image(process, user, thing));
    else if (act === "reset") process.network.reset();
    else if (act === "lose commit") void process.network.cutAt(random.one(["before", "after"]), "COMMIT");
    else if (act === "cut off" && all.length < 4) {
      process.network.cut();
      alive = [...alive.filter((one) => one !== process), await start()];
    } else if (act === "read" && stream)
      pending.push(process.send(user, `/v1/chat/streams/${stream.id}`).then((one) => one.text()));
    else if (act === "stop" && stream)
      pending.push(process.send(user, `/v1/chat/streams/${stream.id}`, { method: "DELETE" }));
    await pause(random.below(100));
  }
  await Promise.allSettled(pending);

  // most requests must reach the gateway, or the checks below would prove little
  expect(gateway.paid.size).toBeGreaterThan(wanted.size / 2);
  const [process] = alive as [SharedProxy];
  for (const [thing, times] of gateway.paid) expect([thing, times]).toEqual([thing, 1]);
  for (const [thing, bodies] of images) expect([thing, bodies.size]).toEqual([thing, 1]);
  for (const [thing, { user, id }] of streams) {
    const read = async () => (await process.send(user, `/v1/chat/streams/${id}`)).text();
    const text = await read();
    // `stream_not_found`: the request was not sent, so that its stream is not stored
    const isEnded = /\[DONE\]|event: error|stream_not_found/.test(text);
    expect([thing, isEnded, await read()]).toEqual([thing, true, text]);
  }
  for (const user of USERS) {
    await expect.poll(async () => (await process.readBudget(user)).reserved).toBe(0);
    const isOwn = (thing: string) => thing.startsWith(user);
    const paid = [...gateway.paid.keys()].filter(isOwn).length;
    const { spent } = await process.readBudget(user);
    expect(spent).toBeGreaterThanOrEqual(USAGE * paid);
    expect(spent).toBeLessThanOrEqual(RESERVED * [...wanted].filter(isOwn).length);
  }
  const settled = all.flatMap(({ jobs }) => jobs.filter(({ spent = 0 }) => spent > 0).map(({ id }) => id));
  expect(settled.length).toBe(new Set(settled).size);
}

test("no order of requests, lost commits and network faults of two processes bills twice, leaves a reservation, or reports a wrong end (case 196)", async () => {
  silenceLog();
  for (let run = 0; run < countRuns(1); run += 1)
    await runSchedule(SEED + run).catch((error: Error) => {
      error.message = `seed ${SEED + run}: ${error.message}`;
      throw error;
    });
});
