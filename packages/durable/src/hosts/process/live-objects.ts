import { logError } from "@sluice/worker-proxy/internal";
import type { DurableObjectClass, ObjectNamespace } from "../../objects/object.js";
import { openAlarms } from "./alarms.js";
import { type Keeper, type KeptElsewhere, keyOf, type ObjectName } from "./keeper.js";
import { type LiveObject, openLiveObject } from "./live-object.js";

/** Classes of objects by the names of their bindings. */
type ObjectClasses = Readonly<Record<string, DurableObjectClass<never>>>;

/** Options of {@link openLiveObjects}. */
export interface LiveObjectsOptions {
  /**
   * Hands a request to the process that has the object, and resolves to its answer.
   *
   * @throws {OwnerAbsent} where its body was not read, or it only reads: it may be handed on again, or be answered here
   */
  readonly forward?: Forward | undefined;
}
export type Forward = (owner: string, object: ObjectName, request: Request) => Promise<Response>;

/** The process at the owner's address has not got the object or does not answer, and nothing was done there. */
export class OwnerAbsent extends Error {
  override name = "OwnerAbsent" as const;
}

/** The objects of this process. */
export interface LiveObjects {
  /** Binding to a class: its objects answer from this process, or from the one that has them. */
  namespace(binding: string): ObjectNamespace;
  /**
   * Answers a request that another process has forwarded. It is not forwarded again.
   *
   * @throws {OwnerAbsent} where a third process has the object
   */
  answer(object: ObjectName, request: Request): Promise<Response>;
  /** Gives an object up as a crash does, if it is in memory: what it has kept stays. */
  drop(object: ObjectName): Promise<void>;
  /** Runs alarms from now on: those that came due while no process ran come first. */
  start(): void;
  /** Waits for what is under way, which may ask other objects until it has ended, and gives all objects up. */
  close(withinMs: number): Promise<void>;
}

/** Time after which an object that nobody asks leaves memory, in milliseconds. */
const IDLE_MS = 10_000;
/** Interval in which objects are looked through for idle ones and lost ones, in milliseconds. */
const SWEEP_MS = 1_000;
/** Longest time in which an object whose owner is gone finds another one, in milliseconds. */
const TAKE_OVER_MS = 30_000;
/** First and longest pause before the owner of an object is looked up again, in milliseconds. */
const OWNER_AGAIN_MS = 100;
const OWNER_LONGEST_MS = 1_000;

/**
 * Keeps objects in memory while they are asked, each once: requests for one that is being opened or given up wait for
 * that.
 */
export function openLiveObjects(
  keeper: Keeper,
  classes: ObjectClasses,
  env: never,
  { forward = toNobody }: LiveObjectsOptions = {},
): LiveObjects {
  const live = new Map<string, Promise<LiveObject | KeptElsewhere>>();
  /** Objects that are being given up. */
  const leaving = new Map<string, Promise<void>>();
  /** True once all that was under way when this process began to stop has ended, or its time was over. */
  let isClosed = false;
  let closing: Promise<void> | undefined;
  const sweeper = setInterval(() => void sweep(), SWEEP_MS);
  sweeper.unref();
  const alarms = openAlarms(keeper, runAlarm);
  return { namespace, answer, drop, start: alarms.start, close: (withinMs) => (closing ??= close(withinMs)) };

  function namespace(binding: string): ObjectNamespace {
    return {
      idFromName: (name: string) => name,
      get: (name: string) => ({ fetch: (request: Request) => ask({ binding, name }, request) }),
    } as ObjectNamespace;
  }

  /** Answers here, or has the owner answer. Where the owner is gone, it waits until the object can be taken over. */
  async function ask(name: ObjectName, request: Request): Promise<Response> {
    if (isClosed) throw new Error("the server is being stopped");
    const until = performance.now() + TAKE_OVER_MS;
    for (let pause = OWNER_AGAIN_MS; ; pause = Math.min(pause * 2, OWNER_LONGEST_MS)) {
      const found = await opened(name);
      // what nobody waits for any more may have been taken back meanwhile
      request.signal.throwIfAborted();
      if (!("owner" in found)) return await found.fetch(request);
      try {
        return await forward(found.owner, name, request);
      } catch (error) {
        if (!(error instanceof OwnerAbsent) || performance.now() > until) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async function answer(name: ObjectName, request: Request): Promise<Response> {
    // what is still under way here goes on, and the rest is for those who stay
    if (closing && !live.has(keyOf(name))) throw new OwnerAbsent("the server is being stopped");
    const found = await opened(name);
    if ("owner" in found) throw new OwnerAbsent(`an object of ${name.binding} belongs to another process`);
    request.signal.throwIfAborted();
    return await found.fetch(request);
  }

  /** Returns the only instance of an object, or where that is. */
  async function opened(name: ObjectName): Promise<LiveObject | KeptElsewhere> {
    const key = keyOf(name);
    for (;;) {
      if (isClosed && !live.has(key)) throw new OwnerAbsent("the server is being stopped");
      await leaving.get(key);
      const opening = live.get(key) ?? open(key, name);
      const object = await opening;
      if ("owner" in object) return object;
      if (live.get(key) !== opening) continue;
      if (!object.isBroken) return object;
      void leave(key, object);
    }
  }

  function open(key: string, name: ObjectName): Promise<LiveObject | KeptElsewhere> {
    const opening = (async () => {
      const ObjectClass = classes[name.binding];
      if (!ObjectClass) throw new Error(`objects.${name.binding}: there is no such class any more`);
      const kept = await keeper.open(name);
      if ("owner" in kept) return kept;
      try {
        const onDue = () => void alarms.ring(name);
        return openLiveObject(name, kept, { class: ObjectClass, env, onDue });
      } catch (error) {
        await kept.close();
        throw error;
      }
    })();
    live.set(key, opening);
    // one that is not here, or could not be opened, is tried again by the next request
    const forget = () => void live.delete(key);
    opening.then((found) => ("owner" in found ? forget() : undefined), forget);
    return opening;
  }

  /** Gives up an object; the next request waits for that. */
  function leave(key: string, object: LiveObject): Promise<void> {
    live.delete(key);
    const left = object
      .close()
      .then(() => alarms.wakeAt(object.isBroken ? Date.now() : (object.alarmAt ?? Number.POSITIVE_INFINITY)))
      .catch((error) =>
        logError(`durable: an object of ${object.name.binding} could not be given up: ${error}`),
      )
      .finally(() => leaving.delete(key));
    leaving.set(key, left);
    return left;
  }

  async function drop(name: ObjectName): Promise<void> {
    const key = keyOf(name);
    const object = await liveIn(live.get(key));
    if (object) await leave(key, object);
  }

  async function sweep(): Promise<void> {
    for (const [key, opening] of [...live]) {
      const object = await liveIn(opening);
      if (!object || live.get(key) !== opening) continue;
      if (object.isBroken || object.idleMs() >= IDLE_MS) void leave(key, object);
    }
  }

  async function runAlarm(name: ObjectName): Promise<void> {
    const object = await opened(name);
    // the alarm of an object elsewhere is its owner's
    if (!("owner" in object)) await object.alarm();
  }

  async function close(withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    alarms.stop();
    clearInterval(sweeper);
    // an answer that ends asks others to settle it, who may have been given up: so again, until none is left
    while (live.size > 0 && performance.now() < until) await leaveAll(until);
    isClosed = true;
    await leaveAll(until);
    await Promise.all(leaving.values());
    await keeper.close();
  }

  /** Gives up each object that is in memory when it has ended. */
  async function leaveAll(until: number): Promise<void> {
    const all = [...live].map(async ([key, opening]) => {
      const object = await liveIn(opening);
      await object?.ended(until - performance.now());
      if (object && live.get(key) === opening) await leave(key, object);
    });
    await Promise.all(all);
  }
}

async function toNobody(_owner: string, { binding }: ObjectName): Promise<never> {
  throw new OwnerAbsent(`an object of ${binding} belongs to another process, and this one asks no other`);
}

/** Returns the object, if it is in this process. */
async function liveIn(opening: Promise<LiveObject | KeptElsewhere> | undefined) {
  const found = await opening?.catch(() => undefined);
  return found && "owner" in found ? undefined : found;
}
