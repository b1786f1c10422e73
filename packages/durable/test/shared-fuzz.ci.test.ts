import { createHash } from "node:crypto";
import type { JobEvent } from "@sluice/worker-proxy";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openRandom, type Random, runsOf, SEED } from "../../worker-proxy/test/support/random.js";
import { CALM, openWorld, PLACES, type Process, RESERVED, sleep } from "./support/shared-world.js";

const events = { headers: { "content-type": "text/event-stream" } };
const pieceOf = (nth: number) => `data: {"choices":[{"delta":{"content":"(${nth})"}}]}\n\n`;
const END =
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"total_tokens":7}}\n\ndata: [DONE]\n\n';

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    now: Date.UTC(2026, 10, 26, 12),
  });
  vi.spyOn(console, "error").mockImplementation(() => {});
  // the platform's digest ends whenever it likes; a schedule is the same each time
  vi.spyOn(crypto.subtle, "digest").mockImplementation(async (_, data) => {
    const hash = createHash("sha256")
      .update(data as Uint8Array)
      .digest();
    return hash.buffer.slice(hash.byteOffset, hash.byteOffset + hash.byteLength) as ArrayBuffer;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A gateway that knows how often it was paid for each thing that a user asked for. */
function openGateway(random: Random) {
  const paid = new Map<string, number>();
  /** Everything that was asked for, also where it was refused. */
  const asked = new Set<string>();
  return { paid, asked, answer };

  async function answer(request: Request): Promise<Response> {
    const body = (await request.json()) as { messages?: [{ content: string }]; prompt?: string };
    const thing = body.messages?.[0].content ?? `${body.prompt}`;
    asked.add(thing);
    const fault = random.one(["", "", "", "slow", "cut", "hangs", "refused", "late"]);
    if (fault === "refused") return Response.json({ error: { message: "no", code: "x" } }, { status: 429 });
    paid.set(thing, (paid.get(thing) ?? 0) + 1);
    if (fault === "late") await sleep(random.below(10_000));
    if (!body.messages) {
      await sleep(random.below(5_000));
      return Response.json({
        data: [{ url: `https://a.example/${thing}/${paid.get(thing)}` }],
        usage: { total_tokens: 5 },
      });
    }
    return new Response(streamOf(fault), events);
  }

  function streamOf(fault: string): ReadableStream<Uint8Array> {
    const pieces = random.below(6);
    let nth = 0;
    return new ReadableStream<Uint8Array>(
      {
        async pull(out) {
          const send = (text: string) => out.enqueue(new TextEncoder().encode(text));
          await sleep(random.below(fault === "slow" ? 15_000 : 3_000));
          if (nth < pieces) {
            nth += 1;
            return send(pieceOf(nth));
          }
          if (fault === "hangs") return await new Promise(() => {});
          if (fault === "cut") return out.error(new Error("connection lost"));
          send(END);
          out.close();
        },
      },
      { highWaterMark: 0 },
    );
  }
}

/** Checks that a reader saw each event once and in order, and no end that is not true. */
function checkText(text: string, after: number): void {
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual(ids.map((_, nth) => after + 1 + nth));
  const nths = [...text.matchAll(/"content":"\((\d+)\)"/g)].map(([, nth]) => Number(nth));
  expect(nths).toEqual(nths.map((_, place) => after + 1 + place));
  if (text.includes("[DONE]")) expect(text).not.toContain("event: error");
}

const acts = [
  "chat",
  "chat",
  "read",
  "read on",
  "leave",
  "stop",
  "image",
  "kill",
  "part",
  "faults",
  "calm",
  "wait",
] as const;

async function runSchedule(seed: number): Promise<void> {
  const random = openRandom(seed);
  const gateway = openGateway(random);
  const world = openWorld(random, gateway.answer);
  let alive: Process[] = [world.start(), world.start()];
  const ids = new Map<string, string>();
  const clients: AbortController[] = [];
  const problems: unknown[] = [];
  const users = ["ada", "bob"];
  const pictures = new Map<string, Set<string>>();

  const send = (path: string, user: string, init: RequestInit = {}) => {
    const headers = { authorization: user, "content-type": "application/json", ...init.headers };
    return random.one(alive).fetch(new Request(`https://proxy.test${path}`, { ...init, headers }));
  };
  const follow = async (thing: string, after: number, asked: Promise<Response>) => {
    let text = "";
    try {
      const response = await asked;
      const id = response.headers.get("x-stream-id");
      if (id) ids.set(thing, id);
      if (!response.headers.get("content-type")?.startsWith("text/event-stream"))
        return void (await response.text());
      for await (const piece of response.body ?? []) text += new TextDecoder().decode(piece);
    } catch {
      // a process that dies, or a client that leaves, breaks the text off
    }
    try {
      checkText(text, after);
    } catch (error) {
      problems.push(error);
    }
  };
  const chat = (user: string, thing: string, signal?: AbortSignal) => {
    const body = JSON.stringify({
      model: "delta-5.3",
      stream: true,
      messages: [{ role: "user", content: thing }],
    });
    const headers = { "idempotency-key": thing };
    return follow(
      thing,
      0,
      send("/v1/chat/completions", user, { method: "POST", body, headers, signal: signal ?? null }),
    );
  };
  const image = async (user: string, thing: string) => {
    const body = JSON.stringify({ model: "gamma-image-5-0-260128", prompt: thing });
    const headers = { "idempotency-key": thing };
    const response = await send("/v1/images/generations", user, { method: "POST", body, headers });
    const text = await response.text();
    if (response.ok) pictures.set(thing, (pictures.get(thing) ?? new Set()).add(text));
  };

  for (let step = 0; step < 25; step += 1) {
    const user = random.one(users);
    const thing = `${user}-${random.below(3)}`;
    const id = ids.get(thing);
    const act = random.one(acts);
    if (act === "chat" || (!id && ["read", "read on", "stop"].includes(act))) {
      const client = new AbortController();
      clients.push(client);
      void chat(user, thing, client.signal);
    } else if (act === "read" || act === "read on") {
      const after = act === "read" ? 0 : 1;
      const headers = { "last-event-id": `${after}` };
      void follow(thing, after, send(`/v1/chat/streams/${id}`, user, { headers }));
    } else if (act === "leave") clients.at(random.below(clients.length + 1))?.abort();
    else if (act === "stop") send(`/v1/chat/streams/${id}`, user, { method: "DELETE" }).catch(() => {});
    else if (act === "image") image(user, `${thing}-image`).catch(() => {});
    else if (act === "kill") {
      const dead = random.one(alive);
      world.kill(dead);
      alive = [...alive.filter((one) => one !== dead), world.start()];
    } else if (act === "part") world.shelf.leaseEnds(random.one(alive).address);
    else if (act === "faults")
      for (const fault of Object.keys(CALM) as (keyof typeof CALM)[]) world.faults[fault] = random.below(20);
    else if (act === "calm") Object.assign(world.faults, CALM);
    await vi.advanceTimersByTimeAsync(random.below(act === "wait" ? 40_000 : 4_000));
  }

  // the faults end; those who read stay, and the alarms find what is left
  Object.assign(world.faults, CALM);
  await vi.advanceTimersByTimeAsync(200_000);
  expect(problems).toEqual([]);
  for (const [asked, times] of gateway.paid) expect([asked, times]).toEqual([asked, 1]);
  for (const [thing, bodies] of pictures) expect([thing, bodies.size]).toEqual([thing, 1]);
  for (const [thing, id] of ids) {
    const response = await settled(send(`/v1/chat/streams/${id}`, userOf(thing)));
    // a key that was refused is free again, and keeps nothing
    if (response.status === 404) continue;
    const text = await settled(response.text());
    checkText(text, 0);
    expect([thing, /\[DONE\]|event: error/.test(text)]).toEqual([thing, true]);
    expect([thing, world.events.some((event) => event.id === id)]).toEqual([thing, true]);
  }
  // what was lost between its end and its settlement is settled when it is forgotten
  await vi.advanceTimersByTimeAsync(700_000);
  for (const user of users) {
    const budget = await settled(send("/v1/budget", user));
    const { budgets } = (await budget.json()) as { budgets: [{ reserved: number; spent: number }] };
    const [{ reserved, spent }] = budgets;
    const { least, most } = spentBy(world.events.filter((event) => event.user === user));
    expect([user, reserved]).toEqual([user, 0]);
    expect(spent).toBeGreaterThanOrEqual(least);
    expect(spent).toBeLessThanOrEqual(most);
    // each place is free again
    for (let nth = 0; nth < PLACES; nth += 1) void chat(user, `${user}-open-${nth}`);
    await vi.advanceTimersByTimeAsync(30_000);
    for (let nth = 0; nth < PLACES; nth += 1) expect(gateway.asked.has(`${user}-open-${nth}`)).toBe(true);
  }
  world.close();
  vi.clearAllTimers();
}

const userOf = (thing: string) => thing.split("-")[0] ?? "";

/** Amount that a user has spent by its events: of one that comes twice after a crash, one is true. */
function spentBy(events: readonly JobEvent[]): { readonly least: number; readonly most: number } {
  const nameOf = ({ kind, id, requestId }: JobEvent) => `${kind} ${id} ${requestId}`;
  const amounts = [...new Set(events.map(nameOf))].map((name) =>
    events.filter((event) => nameOf(event) === name).map(({ spent }) => spent),
  );
  const sum = (of: (known: readonly number[]) => number, unknown: number) =>
    amounts.reduce((all, same) => all + of(same.map((spent) => spent ?? unknown)), 0);
  return { least: sum((known) => Math.min(...known), 0), most: sum((known) => Math.max(...known), RESERVED) };
}

/** Lets the clock run until something is there. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let isDone = false;
  const watched = promise.finally(() => {
    isDone = true;
  });
  watched.catch(() => {});
  for (let turns = 0; turns < 200 && !isDone; turns += 1) await vi.advanceTimersByTimeAsync(500);
  return await watched;
}

test("case 196: no order of requests, kills, lost writes and takeovers between two processes bills twice, keeps a reservation, or lies about an end", async () => {
  for (let run = 0; run < runsOf(60); run += 1)
    await runSchedule(SEED + run).catch((error: Error) => {
      error.message = `seed ${SEED + run}: ${error.message}`;
      throw error;
    });
});
