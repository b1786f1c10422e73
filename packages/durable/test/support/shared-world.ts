import {
  Budget,
  budget,
  type DurableObjectClass,
  type ObjectNamespace,
  once,
  onceObject,
  streamLog,
  streamLogObject,
} from "@sluice/durable";
import { createProxy, type JobEvent } from "@sluice/worker-proxy";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import type { Random } from "../../../worker-proxy/test/support/random.js";
import type { ObjectName } from "../../src/hosts/process/keeper.js";
import { type LiveObjects, OwnerAbsent, openLiveObjects } from "../../src/hosts/process/live-objects.js";
import { type KeeperCall, openShelf } from "./shared-keeper.js";

/*
 * Two processes with the real proxy, kept answers, creates and budgets over one keeper, under a virtual clock. Each can
 * be killed between any two of its calls, lose what it has to the other one while it goes on, and lose calls of the
 * keeper and of its neighbour, before or after they were done.
 */

interface Env {
  readonly PROCESS: Process;
  readonly BUDGET: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
}

/** A process of the world. */
export interface Process {
  readonly address: string;
  isDead: boolean;
  /** Rejects when it dies. */
  readonly died: Promise<never>;
  readonly fetch: (request: Request) => Promise<Response>;
}

/** The faults of the calls from now on, each in a hundred. */
export interface Faults {
  /** A call of the keeper that fails and was not done, or was done, or takes long. */
  lost: number;
  unheard: number;
  slow: number;
  /** The same for a request between the processes. */
  unreached: number;
  unanswered: number;
}
export const CALM: Faults = { lost: 0, unheard: 0, slow: 0, unreached: 0, unanswered: 0 };

export const RESERVED = 1000;
/** Chats that a user may have open. */
export const PLACES = 3;
/** Time after which what a dead process had may be taken, in milliseconds. */
const LEASE_MS = 15_000;
const never = () => new Promise<never>(() => {});
export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/**
 * @param gateway answers a request to the gateway
 */
export function openWorld(random: Random, gateway: (request: Request) => Promise<Response>) {
  const shelf = openShelf();
  const faults: Faults = { ...CALM };
  const events: JobEvent[] = [];
  const processes: Process[] = [];
  const worlds = new Map<string, LiveObjects>();
  let started = 0;
  const onEvent = (event: JobEvent, { PROCESS }: Env) => void (PROCESS.isDead || events.push(event));
  const meter = budget<Env>({
    namespace: (env) => env.BUDGET,
    limits: { user: 1_000_000 },
    windowMs: 86_400_000,
    reserveFor: () => RESERVED,
  });
  const way = {
    baseURL: "https://gateway.test",
    apiKey: () => KEY,
    fetch: (request: Request, env: Env) => ask(request, env),
    limits: { maxStreamsPerUser: PLACES },
    timeout: { totalMs: 120_000, chunkMs: 20_000 },
  };
  const kept = { keepMs: 600_000, keptPerUser: 1000, orphanMs: 45_000 };
  const classes: Record<string, DurableObjectClass<never>> = {
    BUDGET: Budget,
    STREAM_LOG: streamLogObject<Env>({ ...way, meter, ...kept, namespace: (env) => env.STREAM_LOG, onEvent }),
    ONCE: onceObject<Env>({ ...way, meter, namespace: (env) => env.ONCE, onEvent }),
  };
  const proxy = createProxy<Env>({
    ...way,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["delta-5.3", "gamma-image-5-0-260128"],
    routes: ["chat", "images"],
    plugins: [meter, once((env) => env.ONCE), streamLog((env) => env.STREAM_LOG)],
  });
  const happens = (fault: keyof Faults) => faults[fault] > 0 && random.below(100) < faults[fault];
  return { shelf, faults, events, processes, start, kill, close };

  function start(): Process {
    const address = `process-${++started}`;
    let die = () => {};
    const died = new Promise<never>((_, reject) => {
      die = () => reject(new Error(`${address} died`));
    });
    died.catch(() => {});
    const own: Process & { die(): void } = {
      address,
      isDead: false,
      died,
      die,
      fetch: async (request) => answer(request),
    };
    const env = { PROCESS: own } as unknown as Record<string, unknown>;
    const keeper = shelf.keeperOf(address, (call, act) => through(own, call, act));
    const live = openLiveObjects(keeper, classes, env as never, {
      forward: (...asked) => forward(own, ...asked),
    });
    for (const binding of Object.keys(classes)) env[binding] = live.namespace(binding);
    worlds.set(address, live);
    processes.push(own);
    live.start();
    return own;

    async function answer(request: Request): Promise<Response> {
      const response = await Promise.race([proxy.fetch(request, env as never), died]);
      return new Response(until(died, response.body), response);
    }
  }

  /** Ends a process between two of its calls. What it had can be taken when its lease is over. */
  function kill(process: Process): void {
    process.isDead = true;
    (process as Process & { die(): void }).die();
    // its timers end with it; nothing that it does reaches anybody
    void worlds.get(process.address)?.close(0);
    setTimeout(() => shelf.leaseEnds(process.address), LEASE_MS);
  }

  /** Ends all processes. */
  function close(): void {
    for (const process of processes) process.isDead = true;
    for (const live of worlds.values()) void live.close(0);
  }

  async function through<T>(process: Process, call: KeeperCall, act: () => T): Promise<T> {
    if (happens("slow")) await sleep(random.below(14_000));
    if (process.isDead) return never();
    if (call !== "close" && happens("lost")) throw new Error("the keeper can't be reached");
    const result = act();
    await undefined;
    if (process.isDead) return never();
    if (call === "write" && happens("unheard")) throw new Error("the keeper said nothing any more");
    return result;
  }

  async function forward(
    from: Process,
    owner: string,
    name: ObjectName,
    request: Request,
  ): Promise<Response> {
    const to = processes.find(({ address }) => address === owner);
    if (from.isDead) return never();
    if (!to || to.isDead || happens("unreached")) throw new OwnerAbsent(`${owner} can't be reached`);
    const leaving = new AbortController();
    const signal = AbortSignal.any([request.signal, leaving.signal]);
    // a request that is not answered there keeps its body
    const { method, headers } = request;
    const body = method === "GET" ? null : await request.clone().text();
    const init = { method, headers, body, signal };
    const asked = (worlds.get(owner) as LiveObjects).answer(name, new Request(request.url, init));
    if (happens("unanswered")) {
      // the answer comes, and nobody gets it
      asked.then((response) => response.body?.cancel()).catch(() => {});
      leaving.abort();
      throw new Error(`${owner} was lost before its answer`);
    }
    const response = await Promise.race([asked, to.died]);
    if (from.isDead) return never();
    return new Response(until(to.died, response.body), response);
  }

  /** The gateway, as an object asks it: one of a process that is dead asks nothing. */
  async function ask(request: Request, { PROCESS }: Env): Promise<Response> {
    if (PROCESS.isDead) return never();
    const response = await gateway(request);
    return PROCESS.isDead ? never() : response;
  }
}

/** A body that breaks off where the process behind it dies. */
function until(
  died: Promise<never>,
  body: ReadableStream<Uint8Array> | null,
): ReadableStream<Uint8Array> | null {
  const reader = body?.getReader();
  if (!reader) return null;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await Promise.race([reader.read(), died]);
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
