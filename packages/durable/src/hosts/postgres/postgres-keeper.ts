import { logError } from "@sluice/worker-proxy/internal";
import type { Row } from "postgres";
import type {
  Changes,
  DueAlarms,
  Keeper,
  KeptElsewhere,
  KeptObject,
  ObjectName,
  StoredObject,
} from "../process/keeper.js";
import { type RowText, rowOfText, textOfRow } from "../process/row-text.js";
import { type ConnectionOptions, openConnections } from "./connections.js";
import { type Lease, openProcess } from "./process.js";
import { channelOf, migrate, quotedName } from "./schema.js";
import { follow, openWarmObjects } from "./warm.js";

/** Options of {@link openPostgresKeeper}. */
export interface PostgresKeeperOptions {
  readonly url: string;
  readonly connection?: ConnectionOptions | undefined;
  readonly schema: string;
  readonly address: string;
  readonly leaseMs: number;
}

/** Difference of clocks up to which an alarm is what was set, in milliseconds. */
const ALIKE_MS = 10_000;
/** Longest and shortest time between two looks for alarms, in milliseconds. What one look finds, others needn't. */
const LONGEST_LOOK_MS = 30_000;
const SHORTEST_LOOK_MS = 250;

/**
 * Keeps objects in Postgres, for any number of processes. One of them has an object at a time.
 *
 * - Each query is one call of a function of {@link migrate}, and all times are the database's.
 * - A write names the token of the object, which changes with each owner: of two processes that believe they have it, one
 *   can write.
 * - A write whose connection was lost is repeated with another token. The first one then does nothing, however late it
 *   comes.
 */
export async function openPostgresKeeper(options: PostgresKeeperOptions): Promise<Keeper> {
  const { url, connection = {} } = options;
  const connections = openConnections(url, { max: 5, ...connection });
  // of their own, so that a lease goes on where all others are busy
  const beats = openConnections(url, { ...connection, max: 1 });
  const schema = quotedName(options.schema);
  let wakeAt: (at: number) => void = () => {};
  let closing: Promise<void> | undefined;
  await migrate(beats.sql, options.schema);
  const warm = openWarmObjects();
  const process = await openProcess({
    ...options,
    connections: beats,
    onAlarm: (at) => wakeAt(at),
    onBeat: warm.cool,
  });
  await listen();
  return {
    open,
    due,
    onAlarm(callback) {
      wakeAt = callback;
    },
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    await process
      .leave()
      .catch((error) => logError(`durable: the objects of this process could not be given up: ${error}`));
    await Promise.all([connections.close(), beats.close()]);
  }

  /** Hears of alarms that a process leaves behind. What is not heard is found by the next look. */
  async function listen(): Promise<void> {
    const hear = (milliseconds: string) => wakeAt(Date.now() + Number(milliseconds) + jitter());
    // whenever it begins to hear again, something may have been said before
    const look = () => wakeAt(Date.now());
    await beats.sql.listen(channelOf(options.schema), hear, look).catch(() => {});
  }

  async function call(name: string, casts: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return await connections.query((sql) =>
      sql.unsafe(`SELECT * FROM ${schema}.${name}(${casts})`, values as string[], { prepare: true }),
    );
  }

  async function open(name: ObjectName): Promise<KeptObject | KeptElsewhere> {
    const known = warm.take(name);
    if (known) return known;
    const lease = process.lease();
    const token = crypto.randomUUID();
    const claimed = [name.binding, name.name, lease.process, token];
    const [head, ...rows] = await call("claim", "$1, $2, $3, $4", claimed);
    if (head?.["row"] === null) return { owner: String(head["table_name"]) };
    const { id, tables, alarm, alarmIn } = JSON.parse(String(head?.["row"])) as Head;
    const stored = {
      schema: JSON.parse(tables) as string[],
      rows: rows.map((row) =>
        rowOfText({ ...(row as unknown as RowText), table: row["table_name"] as string }),
      ),
      alarm: alarmIn === null || alarm === null ? null : alarmOf(alarm, alarmIn),
    };
    return { stored, ...openWrites(name, stored, { id, lease, token }) };
  }

  /** Opens the writes of an object that this process has claimed. */
  function openWrites(name: ObjectName, stored: StoredObject, { id, lease, token: first }: Claimed) {
    const followed = follow(stored);
    let token = first;
    let hasFailed = false;
    const kept = { write, isOurs: () => !hasFailed && !lease.isOver(), close, giveUp };
    return kept;

    async function write(changes: Changes): Promise<void> {
      const tokens = [token];
      try {
        await connections.query((sql, nth) => {
          if (lease.isOver()) throw new Error("the lease of this process was over before all was kept");
          const known = `{${tokens.join(",")}}`;
          if (nth > 0) tokens.push(crypto.randomUUID());
          const values = [id, lease.process, known, tokens.at(-1) as string, textOf(changes)];
          const keep = `SELECT ${schema}.keep($1, $2, $3::text::uuid[], $4, $5)`;
          return sql.unsafe(keep, values, { prepare: true });
        });
      } catch (error) {
        hasFailed = true;
        throw error;
      }
      token = tokens.at(-1) as string;
      followed.change(changes);
    }

    async function close(): Promise<void> {
      if (!warm.keep(name, kept, followed)) giveUp();
    }

    function giveUp(): void {
      process.giveUp(id, token);
    }
  }

  async function due(most: number): Promise<DueAlarms> {
    const rows = await call("due", "$1, $2, $3", [process.lease().process, crypto.randomUUID(), most]);
    const objects = rows.filter(({ binding }) => binding !== null) as unknown as ObjectName[];
    const nextIn = rows.at(-1)?.["next_in"] ?? LONGEST_LOOK_MS;
    const shortest = objects.length < most ? SHORTEST_LOOK_MS : 0;
    const pause = Math.max(Math.min(Number(nextIn), LONGEST_LOOK_MS), shortest);
    return { objects, next: Date.now() + pause + jitter() };
  }
}

/** An object that this process has claimed. */
interface Claimed {
  readonly id: string;
  readonly lease: Lease;
  readonly token: string;
}

interface Head {
  readonly id: string;
  readonly tables: string;
  /** As it was set, in Unix milliseconds. */
  readonly alarm: number | null;
  /** Milliseconds to it by the database's clock. */
  readonly alarmIn: number | null;
}

/** Returns the alarm as it was set, or its time on the clock of this process, where that is another one. */
function alarmOf(alarm: number, alarmIn: number): number {
  const here = Date.now() + alarmIn;
  return Math.abs(here - alarm) < ALIKE_MS ? alarm : here;
}

/** Time by which processes look for the same alarms one after the other, in milliseconds. */
function jitter(): number {
  return Math.random() * SHORTEST_LOOK_MS;
}

function textOf({ schema, rows, removed, alarm }: Changes): string {
  const texts = rows
    .map(textOfRow)
    .map(({ place, table, row, bytes }) => [place, table, row, bytes && base64Of(bytes)]);
  return JSON.stringify({
    rows: texts,
    ...(removed.length > 0 && { removed }),
    ...(schema && { tables: JSON.stringify(schema) }),
    // how far it is from now: the clocks of processes differ
    ...(alarm === null && { alarmIn: null }),
    ...(typeof alarm === "number" && { alarm: Math.round(alarm), alarmIn: Math.round(alarm - Date.now()) }),
  });
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
