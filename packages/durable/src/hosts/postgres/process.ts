import { logError } from "@sluice/worker-proxy/internal";
import type { Connections } from "./connections.js";
import { quotedName } from "./schema.js";

/** The time for which this process may have objects. Once it is over, it never begins again: another one follows. */
export interface Lease {
  /** Id of the process for as long as this lease goes on. */
  readonly process: string;
  isOver(): boolean;
}

/** This process among those of a database. */
export interface Process {
  /** @throws {Error} where the lease is over and the database has given no other one yet */
  lease(): Lease;
  /** Gives an object up with the next beat. */
  giveUp(object: string, token: string): void;
  /** Gives all objects up. */
  leave(): Promise<void>;
}

interface ProcessOptions {
  readonly connections: Connections;
  readonly schema: string;
  readonly address: string;
  readonly leaseMs: number;
  /** Called with the time of the earliest alarm of objects that were given up. */
  readonly onAlarm: (at: number) => void;
  /** Called before each beat, which gives up what has to be given up. */
  readonly onBeat: () => void;
}

interface OwnLease extends Lease {
  /** Time at which it is over, in milliseconds of `performance.now()`. */
  until: number;
}

/** Beats in the time of a lease: two may fail. */
const BEATS = 3;
/** Most objects that one beat gives up, of this process and of lost ones. */
const MOST_GIVEN_UP = 500;
/** Pause before a beat that has failed is tried again, in milliseconds. */
const AGAIN_MS = 1_000;

/**
 * Notes this process in the database, and renews its lease by one query each third of it, however many objects it has.
 * The lease is measured from before each query on a clock of this process that nobody sets, so that it is over here
 * before it is over in the database.
 */
export async function openProcess(options: ProcessOptions): Promise<Process> {
  const { connections, address, leaseMs, onAlarm, onBeat } = options;
  const schema = quotedName(options.schema);
  const givenUp = new Map<string, string>();
  let current = await begin();
  let hasLeft = false;
  let timer = setTimeout(beat, leaseMs / BEATS);
  return { lease, giveUp: (object, token) => void givenUp.set(object, token), leave };

  function lease(): Lease {
    if (current.isOver())
      throw new Error("the database can't be reached, and other processes may have the objects");
    return current;
  }

  async function begin(): Promise<OwnLease> {
    const process = crypto.randomUUID();
    const sentAt = performance.now();
    const end = `clock_timestamp() + ${leaseMs} * interval '1 millisecond'`;
    await connections.query((sql) =>
      sql.unsafe(
        `INSERT INTO ${schema}.processes VALUES ($1, $2, ${end}) ON CONFLICT (id) DO UPDATE SET lives_until = ${end}`,
        [process, address],
      ),
    );
    const begun: OwnLease = {
      process,
      until: sentAt + leaseMs,
      isOver: () => performance.now() >= begun.until,
    };
    return begun;
  }

  async function beat(): Promise<void> {
    let pause = leaseMs / BEATS;
    try {
      if (current.isOver()) await beginAnew();
      else if (await renew()) pause = 0;
    } catch (error) {
      pause = Math.min(pause, AGAIN_MS);
      logError(`durable: the lease of this process could not be renewed; it is tried again: ${error}`);
    }
    if (hasLeft) return;
    timer = setTimeout(beat, pause);
  }

  async function beginAnew(): Promise<void> {
    logError("durable: the lease of this process was over; its objects begin anew");
    givenUp.clear();
    current = await begin();
    // those that came due meanwhile
    onAlarm(Date.now());
  }

  /** Renews the lease. Returns true where more objects are to be given up. */
  async function renew(): Promise<boolean> {
    onBeat();
    const given = [...givenUp].slice(0, MOST_GIVEN_UP);
    const renewed = current;
    const sentAt = performance.now();
    const [answer] = await connections.query((sql) =>
      sql.unsafe(
        `SELECT * FROM ${schema}.beat($1, $2, $3, $4)`,
        [renewed.process, leaseMs, JSON.stringify(Object.fromEntries(given)), MOST_GIVEN_UP],
        { prepare: true },
      ),
    );
    for (const [object, token] of given) if (givenUp.get(object) === token) givenUp.delete(object);
    renewed.until = answer?.["is_alive"] ? sentAt + leaseMs : Number.NEGATIVE_INFINITY;
    if (answer?.["alarm_in"] !== null) onAlarm(Date.now() + Number(answer?.["alarm_in"]));
    return answer?.["is_more"] === true || givenUp.size > MOST_GIVEN_UP;
  }

  async function leave(): Promise<void> {
    hasLeft = true;
    clearTimeout(timer);
    const { process } = current;
    await connections.query((sql) => sql.unsafe(`SELECT ${schema}.leave($1)`, [process]));
  }
}
