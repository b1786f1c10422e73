import { logError } from "@sluice/worker-proxy/internal";
import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "../../objects/object.js";
import { openDatabase } from "./database.js";
import type { KeptObject, ObjectName } from "./keeper.js";
import { openUses } from "./uses.js";

/** An object that lives in this process. */
export interface LiveObject {
  readonly name: ObjectName;
  /** Milliseconds for which nothing has been under way; 0 while something is. */
  idleMs(): number;
  /** True once what it wrote could not be kept, or another process may have it: the next request needs a new one. */
  readonly isBroken: boolean;
  /** Time of its alarm in Unix milliseconds; null for none. */
  readonly alarmAt: number | null;
  fetch(request: Request): Promise<Response>;
  /** Runs the alarm if it is due; it stays until it has succeeded. */
  alarm(): Promise<void>;
  /** Resolves when nothing is under way, or when the time is over. */
  ended(withinMs: number): Promise<void>;
  /** Gives the object up. What is under way is cut. */
  close(): Promise<void>;
}

/** The parts that each object of a host has. */
export interface LiveObjectParts<Env> {
  readonly class: DurableObjectClass<Env>;
  readonly env: Env;
  /** Called when the alarm is due, which is kept by then. */
  readonly onDue: () => void;
}

/** Pauses after an alarm that has failed, in milliseconds: each is twice as long as the one before, up to the longest. */
const RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 10 * 60_000;
/** Longest time until a write is kept for which nobody waits, in milliseconds: turns that follow are kept with it. */
const WRITE_MS = 250;
/** Longest time of a timer, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Difference of the clocks of an object and of its keeper, in milliseconds: an alarm runs where either says so. */
const CLOCKS_MS = 10_000;
/** Table of an object's keys and values; SQLite and the objects' own names never begin so. */
const VALUES = "_values";
/** Requests by what aborts them, see {@link abortableBy}. */
const held = new WeakMap<AbortController, readonly Request[]>();

/** Opens an object with what is kept of it. What it writes in one turn is kept together, before anybody hears of it. */
export function openLiveObject<Env>(
  name: ObjectName,
  kept: KeptObject,
  { class: ObjectClass, env, onDue }: LiveObjectParts<Env>,
): LiveObject {
  const database = openDatabase(kept.stored);
  const uses = openUses();
  let alarmAt = kept.stored.alarm;
  /** The alarm that is not kept yet; undefined for none. */
  let newAlarm: number | null | undefined;
  let ringer: ReturnType<typeof setTimeout> | undefined;
  /** Runs for as long as writes wait to be kept. */
  let noted: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let broken: unknown;
  let writing: Promise<void> = Promise.resolve();
  /** Attempts at an alarm that have failed. */
  let failures = 0;
  let ready: Promise<unknown> = Promise.resolve();
  const object: DurableObjectHandlers = new ObjectClass(stateOf(), env);
  setRinger();

  return {
    name,
    idleMs: uses.idleMs,
    get isBroken() {
      return broken !== undefined || !kept.isOurs();
    },
    get alarmAt() {
      return alarmAt;
    },
    fetch: (request) => uses.during(() => fetch(request)),
    alarm: () => uses.during(alarm),
    ended: uses.ended,
    async close() {
      await allKept().catch(() => {});
      isClosed = true;
      clearTimeout(ringer);
      uses.cut();
      database.close();
      await kept.close();
    },
  };

  async function fetch(request: Request): Promise<Response> {
    await ready;
    // a client that leaves is reported to the object by its signal alone
    const leaving = new AbortController();
    const response = await object.fetch(abortableBy(leaving, request));
    // nobody hears of what is not kept
    await allKept().catch((error: unknown) => {
      leaving.abort();
      throw error;
    });
    return uses.duringBody(response, { kept: allKept, onCancel: () => leaving.abort() });
  }

  async function alarm(): Promise<void> {
    await ready;
    // one that was found due may have run meanwhile
    if (alarmAt === null || alarmAt > Date.now() + CLOCKS_MS) return;
    // the kept one stays until this one has succeeded: a process that is killed meanwhile runs it again
    alarmAt = null;
    try {
      await object.alarm();
      failures = 0;
      if (alarmAt === null) setAlarm(null);
    } catch (error) {
      failures += 1;
      const pause = Math.min(RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
      logError(`durable: the alarm of ${name.binding} failed; it runs again in ${pause / 1000} s: ${error}`);
      setAlarm(Math.min(alarmAt ?? Number.POSITIVE_INFINITY, Date.now() + pause));
    }
    await allKept();
    // one that came due meanwhile
    setRinger();
  }

  function setAlarm(at: number | null): void {
    alarmAt = at;
    newAlarm = at;
    note();
  }

  /** Has the alarm run in its time. */
  function setRinger(): void {
    clearTimeout(ringer);
    if (alarmAt === null || isClosed) return;
    const delay = Math.min(Math.max(alarmAt - Date.now(), 0), LONGEST_TIMER_MS);
    ringer = setTimeout(() => (Date.now() < (alarmAt ?? 0) ? setRinger() : onDue()), delay);
    ringer.unref();
  }

  /** Notes that this turn writes. All that is noted is kept together as soon as anybody waits for it, or a little later. */
  function note(): void {
    if (broken !== undefined) throw broken;
    if (isClosed) throw new Error(`an object of ${name.binding} was given up while it worked`);
    noted ??= setTimeout(keepNoted, WRITE_MS);
  }

  function keepNoted(): void {
    if (noted === undefined) return;
    clearTimeout(noted);
    noted = undefined;
    writing = writing.then(write);
  }

  /** Keeps what is new. The turns that write while it does are kept together, by the write that follows. */
  async function write(): Promise<void> {
    if (isClosed || broken !== undefined) return;
    try {
      const taken = database.take();
      const alarm = newAlarm;
      newAlarm = undefined;
      if (!taken && alarm === undefined) return;
      await kept.write({ ...(taken ?? { rows: [], removed: [] }), ...(alarm !== undefined && { alarm }) });
      if (alarm !== undefined) setRinger();
    } catch (error) {
      broken ??= error;
      logError(`durable: what an object of ${name.binding} wrote was not kept; it begins anew: ${error}`);
    }
  }

  /** Resolves when all that was written until now is kept. @throws {Error} where it could not be kept */
  async function allKept(): Promise<void> {
    // a turn that goes on writes first
    await undefined;
    keepNoted();
    await writing;
    if (!kept.isOurs())
      broken ??= new Error(`an object of ${name.binding} may belong to another process now`);
    if (broken !== undefined) throw broken;
  }

  function stateOf(): ObjectState {
    const exec: ObjectState["storage"]["sql"]["exec"] = (query, ...bindings) => {
      note();
      return database.sql.exec(query, ...bindings);
    };
    return {
      storage: {
        sql: { exec },
        async get<T>(key: string) {
          if (!hasValues()) return undefined;
          const [row] = exec(`SELECT value FROM ${VALUES} WHERE key = ?`, key).toArray();
          return row && (JSON.parse(String(row["value"])) as T);
        },
        async put(key, value) {
          exec(`CREATE TABLE IF NOT EXISTS ${VALUES} (key TEXT PRIMARY KEY, value TEXT)`);
          exec(`INSERT OR REPLACE INTO ${VALUES} VALUES (?, ?)`, key, JSON.stringify(value));
        },
        deleteAll: () =>
          unheard(() => {
            note();
            database.clear();
            setAlarm(null);
          }),
        getAlarm: async () => alarmAt,
        setAlarm: (at) => unheard(() => setAlarm(Number(at))),
        deleteAlarm: () => unheard(() => setAlarm(null)),
        sync: allKept,
      },
      async blockConcurrencyWhile(work) {
        const done = uses.during(work);
        ready = Promise.all([ready, done]);
        return await done;
      },
      waitUntil: (promise) => void uses.during(() => promise).catch(() => {}),
    };

    function hasValues(): boolean {
      return exec("SELECT 1 FROM sqlite_master WHERE name = ?", VALUES).toArray().length > 0;
    }
  }
}

/** Returns the request with a second signal. In Node the signal of a request that was collected never aborts, so both are held. */
function abortableBy(leaving: AbortController, request: Request): Request {
  const sent = new Request(request, { signal: AbortSignal.any([request.signal, leaving.signal]) });
  held.set(leaving, [request, sent]);
  return sent;
}

/** Does what an object needn't wait for: where it fails, the object ends, and not the process. */
function unheard(act: () => void): Promise<void> {
  const done = (async () => act())();
  done.catch(() => {});
  return done;
}
