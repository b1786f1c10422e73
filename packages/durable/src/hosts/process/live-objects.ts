import { logError } from "@sluice/worker-proxy/internal";
import type { DurableObjectClass, ObjectNamespace } from "../../objects/object.js";
import type { Keeper, ObjectName } from "./keeper.js";
import { type LiveObject, openLiveObject } from "./live-object.js";

/** Classes of objects by the names of their bindings. */
type ObjectClasses = Readonly<Record<string, DurableObjectClass<never>>>;

/** The objects of this process. */
export interface LiveObjects {
  namespace(binding: string): ObjectNamespace;
  /** Gives an object up as a crash does, if it is in memory: what it has kept stays. */
  drop(object: ObjectName): Promise<void>;
  /** Runs alarms from now on: those that came due while no process ran come first. */
  start(): void;
  /** Takes no request any more, waits for what is under way, and gives all objects up. */
  close(withinMs: number): Promise<void>;
}

/** Time after which an object that nobody asks leaves memory, in milliseconds. */
const IDLE_MS = 10_000;
/** Most alarms that run at a time. */
const MOST_ALARMS = 64;
/** Pause before alarms are looked for again where one that is due still runs, or where the keeper failed, in milliseconds. */
const AGAIN_MS = 1_000;
/** Longest time of a timer, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Keeps objects in memory while they are asked, each once: requests for one that is being opened or given up wait for
 * that.
 */
export function openLiveObjects(keeper: Keeper, classes: ObjectClasses, env: never): LiveObjects {
  const live = new Map<string, Promise<LiveObject>>();
  /** Objects that are being given up. */
  const leaving = new Map<string, Promise<void>>();
  const ringing = new Set<string>();
  let alarmTimer: ReturnType<typeof setTimeout> | undefined;
  let alarmTimerAt = Number.POSITIVE_INFINITY;
  let isStarted = false;
  let isClosed = false;
  let closing: Promise<void> | undefined;
  const sweeper = setInterval(() => void sweep(), IDLE_MS / 2);
  sweeper.unref();
  return { namespace, drop, start, close: (withinMs) => (closing ??= close(withinMs)) };

  function namespace(binding: string): ObjectNamespace {
    return {
      idFromName: (name: string) => name,
      get: (name: string) => ({
        fetch: async (request: Request) => (await opened({ binding, name })).fetch(request),
      }),
    } as ObjectNamespace;
  }

  /** Returns the only instance of an object. */
  async function opened(name: ObjectName): Promise<LiveObject> {
    const key = keyOf(name);
    for (;;) {
      if (isClosed) throw new Error("the server is being stopped");
      await leaving.get(key);
      const known = live.get(key);
      const object = await (known ?? open(key, name));
      if (!object.isBroken && live.has(key)) return object;
      if (object.isBroken) void leave(key, object, 0);
    }
  }

  function open(key: string, name: ObjectName): Promise<LiveObject> {
    const opening = (async () => {
      const ObjectClass = classes[name.binding];
      if (!ObjectClass) throw new Error(`objects.${name.binding}: there is no such class any more`);
      return openLiveObject(name, await keeper.open(name), { class: ObjectClass, env, wakeAt });
    })();
    live.set(key, opening);
    // one that could not be opened is tried again by the next request
    opening.catch(() => live.delete(key));
    return opening;
  }

  /** Gives up an object; the next request waits for that. */
  function leave(key: string, object: LiveObject, withinMs: number): Promise<void> {
    live.delete(key);
    const left = object
      .close(withinMs)
      .catch((error) =>
        logError(`durable: an object of ${object.name.binding} could not be given up: ${error}`),
      )
      .finally(() => leaving.delete(key));
    leaving.set(key, left);
    return left;
  }

  function start(): void {
    isStarted = true;
    void ringDue();
  }

  async function drop(name: ObjectName): Promise<void> {
    const key = keyOf(name);
    const object = await live.get(key)?.catch(() => undefined);
    if (object) await leave(key, object, 0);
  }

  async function sweep(): Promise<void> {
    for (const [key, opening] of [...live]) {
      const object = await opening.catch(() => undefined);
      if (object && live.get(key) === opening && object.idleMs() >= IDLE_MS) void leave(key, object, 0);
    }
  }

  /** Rings by the time at the latest. */
  function wakeAt(at: number): void {
    if (!isStarted || isClosed || at >= alarmTimerAt) return;
    clearTimeout(alarmTimer);
    alarmTimerAt = at;
    const delay = Math.min(Math.max(at - Date.now(), 0), LONGEST_TIMER_MS);
    alarmTimer = setTimeout(() => void ringDue(), delay);
    alarmTimer.unref();
  }

  /** Runs the alarms that are due, and sets the timer for the next one. */
  async function ringDue(): Promise<void> {
    alarmTimerAt = Number.POSITIVE_INFINITY;
    try {
      const free = MOST_ALARMS - ringing.size;
      const due = free > 0 ? await keeper.due(Date.now(), MOST_ALARMS + ringing.size) : [];
      const calm = due.filter((name) => !ringing.has(keyOf(name))).slice(0, Math.max(free, 0));
      for (const name of calm) void ring(name);
      const next = await keeper.nextAlarm();
      // the earliest one may be one that runs
      if (next !== null) wakeAt(ringing.size > 0 ? Math.max(next, Date.now() + AGAIN_MS) : next);
    } catch (error) {
      if (isClosed) return;
      logError(`durable: alarms could not be read; it is tried again in ${AGAIN_MS / 1000} s: ${error}`);
      wakeAt(Date.now() + AGAIN_MS);
    }
  }

  async function ring(name: ObjectName): Promise<void> {
    const key = keyOf(name);
    ringing.add(key);
    try {
      await (await opened(name)).alarm();
    } catch (error) {
      if (!isClosed)
        logError(`durable: an alarm of ${name.binding} could not run; it is tried again: ${error}`);
    } finally {
      ringing.delete(key);
    }
  }

  async function close(withinMs: number): Promise<void> {
    isClosed = true;
    clearTimeout(alarmTimer);
    clearInterval(sweeper);
    const all = [...live].map(async ([key, opening]) => {
      const object = await opening.catch(() => undefined);
      if (object) await leave(key, object, withinMs);
    });
    await Promise.all([...all, ...leaving.values()]);
    await keeper.close();
  }
}

function keyOf({ binding, name }: ObjectName): string {
  return `${binding}\n${name}`;
}
