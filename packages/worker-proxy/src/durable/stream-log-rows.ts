import { openBytes } from "../gateway/bytes.js";
import { logError } from "../report.js";
import type { ObjectSQL } from "./platform.js";

/** State of a stream. `interrupted`: the object was restarted, and the gateway's connection was lost with its memory. */
export type StreamState = "open" | "done" | "error" | "cancelled" | "interrupted";

/** Some events of the log as bytes, each with its `id`; `last` is the id of the last of them. */
interface LogPart {
  readonly bytes: Uint8Array;
  readonly last: number;
}

/** Events of one stream, in the order of their ids, from 1 on. */
export interface EventLog {
  /** Undefined where there is no stream. */
  readonly state: StreamState | undefined;
  /** Digest of the request. */
  readonly asked: string | undefined;
  /** Id of the last event; infinite where what followed is lost. */
  readonly last: number;
  begin(asked: string): void;
  /** @param event lines of one event, without its `id` and its blank line */
  append(event: string): void;
  end(state: StreamState): void;
  /** Returns what follows the event with this id: undefined where nothing does yet, `"lost"` where it was not kept. */
  after(id: number): LogPart | "lost" | undefined;
  /** Forgets what is in memory, for a storage that is deleted. */
  forget(): void;
}

/** Largest row; the platform's limit is 2 MB. */
const ROW_BYTES = 1_500_000;
/**
 * Longest time for which events are in memory alone, in milliseconds. A row is what an answer costs, and a restart of the
 * object ends the answer anyway: with a row each 250 ms, one of 30 s would write nine times as many.
 */
const ROW_MS = 10_000;
/** Size of the events in memory once no more are kept, for clients that read them now. */
const LIVE_BYTES = 65_536;

/**
 * Opens the log of a storage, or an empty one: nothing is written before `begin`. Several events share a row; those
 * not written yet are in memory, and are read from there. At `logBytes`, at an event too large for a row, and where the
 * storage fails, it keeps no more: the stream goes on for the clients that read it now.
 */
export function openEventLog(sql: ObjectSQL, logBytes: number): EventLog {
  const encoder = new TextEncoder();
  let tail: LogPart[] = [];
  let tailBytes = 0;
  let keptBytes = 0;
  let isKept = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let { state, asked, last } = read();

  return {
    get state() {
      return state;
    },
    get asked() {
      return asked;
    },
    get last() {
      return last;
    },
    begin,
    append,
    end,
    after,
    forget() {
      clearTimeout(timer);
      timer = undefined;
      tail = [];
      state = asked = undefined;
      last = tailBytes = keptBytes = 0;
      isKept = true;
    },
  };

  function read(): Pick<EventLog, "state" | "asked" | "last"> {
    // a read must not write: an id that was never issued would leave rows behind
    const [table] = sql.exec("SELECT name FROM sqlite_master WHERE name = 'events'").toArray();
    const [row] = table ? sql.exec("SELECT state, asked, whole FROM stream").toArray() : [];
    if (!row) return { state: undefined, asked: undefined, last: 0 };
    const [{ last } = { last: 0 }] = sql.exec("SELECT max(seq) AS last FROM events").toArray();
    return {
      state: row["state"] as StreamState,
      asked: row["asked"] as string,
      last: row["whole"] === 1 ? Number(last) : Number.POSITIVE_INFINITY,
    };
  }

  function begin(digest: string): void {
    sql.exec("CREATE TABLE IF NOT EXISTS stream (state TEXT, asked TEXT, whole INTEGER)");
    sql.exec("CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY, bytes BLOB)");
    sql.exec("INSERT INTO stream VALUES ('open', ?, 1)", digest);
    ({ state, asked, last } = read());
  }

  function append(event: string): void {
    const bytes = encoder.encode(`id: ${last + 1}\n${event}\n\n`);
    const { byteLength } = bytes;
    if (tailBytes + byteLength > ROW_BYTES) write();
    if (keptBytes + byteLength > logBytes || byteLength > ROW_BYTES) stopKeeping();
    last += 1;
    tail.push({ bytes, last });
    tailBytes += byteLength;
    keptBytes += byteLength;
    if (!isKept) trim();
    else timer ??= setTimeout(write, ROW_MS);
  }

  /** Writes what is in memory as one row, found by the id of its last event. */
  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    const newest = tail.at(-1);
    if (!isKept || !newest) return;
    tryTo(() => {
      sql.exec("INSERT INTO events VALUES (?, ?)", newest.last, bytesOf(tail));
      tail = [];
      tailBytes = 0;
    });
  }

  function stopKeeping(): void {
    if (!isKept) return;
    write();
    isKept = false;
    tryTo(() => sql.exec("UPDATE stream SET whole = 0"));
  }

  function tryTo(change: () => void): void {
    try {
      change();
    } catch {
      isKept = false;
      logError("streamLogObject: its storage failed; the answer goes on, but can't be resumed");
    }
  }

  function trim(): void {
    while (tail.length > 1 && tailBytes > LIVE_BYTES) tailBytes -= tail.shift()?.bytes.byteLength ?? 0;
  }

  function end(how: StreamState): void {
    write();
    state = how;
    if (how === "interrupted") {
      isKept = false;
      last = Number.POSITIVE_INFINITY;
    }
    tryTo(() => sql.exec("UPDATE stream SET state = ?, whole = ?", how, isKept ? 1 : 0));
  }

  function after(id: number): LogPart | "lost" | undefined {
    if (id >= last) return undefined;
    const first = tail[0]?.last ?? Number.POSITIVE_INFINITY;
    if (id + 1 >= first) {
      const parts = tail.slice(id + 1 - first);
      return { bytes: bytesOf(parts), last: parts.at(-1)?.last as number };
    }
    const [row] = sql.exec("SELECT seq, bytes FROM events WHERE seq > ? ORDER BY seq LIMIT 1", id).toArray();
    if (!row) return "lost";
    return { bytes: from(id + 1, new Uint8Array(row["bytes"] as ArrayBuffer)), last: row["seq"] as number };
  }
}

/** Returns the part of a row that begins with this event. No event has a blank line in it: none looks like another's start. */
function from(id: number, row: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(row);
  const start = `id: ${id}\n`;
  return text.startsWith(start)
    ? row
    : new TextEncoder().encode(text.slice(text.indexOf(`\n\n${start}`) + 2));
}

function bytesOf(parts: readonly { readonly bytes: Uint8Array }[]): Uint8Array<ArrayBuffer> {
  const all = openBytes();
  for (const { bytes } of parts) all.add(bytes);
  return all.take();
}
