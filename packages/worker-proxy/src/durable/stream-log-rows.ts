import { openBytes } from "../gateway/bytes.js";
import type { ObjectSQL } from "./platform.js";

/** How a stream stands. `interrupted`: the object was restarted, and nobody can read on from the gateway. */
export type StreamState = "open" | "done" | "error" | "cancelled" | "interrupted";

/** Some events of the log as bytes, each with its `id`; `last` is the id of the last of them. */
interface LogPart {
  readonly bytes: Uint8Array;
  readonly last: number;
}

/** The events of one stream, in the order of their ids, from 1 on. */
export interface EventLog {
  /** Undefined where there is no stream. */
  readonly state: StreamState | undefined;
  /** What was asked, as a digest. */
  readonly asked: string | undefined;
  /** The id of the last event; infinite where what followed is lost. */
  readonly last: number;
  begin(asked: string): void;
  append(event: string): void;
  end(state: StreamState): void;
  /** What follows the event with this id: undefined where nothing does yet, `"lost"` where it was not kept. */
  after(id: number): LogPart | "lost" | undefined;
  /** Everything was deleted. */
  forget(): void;
}

/** A row may have 2 MB. */
const ROW_BYTES = 1_500_000;
const ROW_EVENTS = 10;
const ROW_MS = 250;
/** What is held of a stream that goes on beyond the log's end, for those who read it now. */
const LIVE_BYTES = 65_536;

/**
 * Opens the log that is in a storage, or an empty one: nothing is written before `begin`. Events are written several
 * at once; what is not written yet is in memory, and is read from there.
 */
export function openEventLog(sql: ObjectSQL, logBytes: number): EventLog {
  const encoder = new TextEncoder();
  let tail: LogPart[] = [];
  let tailBytes = 0;
  let written = 0;
  let isFull = false;
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
      tail = [];
      state = asked = undefined;
      last = 0;
    },
  };

  function read(): Pick<EventLog, "state" | "asked" | "last"> {
    // to look must not write: an id that nobody gave out would leave something behind
    const [table] = sql.exec("SELECT name FROM sqlite_master WHERE name = 'stream'").toArray();
    if (!table) return { state: undefined, asked: undefined, last: 0 };
    const [row] = sql.exec("SELECT state, asked, whole FROM stream").toArray();
    const [{ last } = { last: 0 }] = sql.exec("SELECT max(seq) AS last FROM events").toArray();
    return {
      state: row?.["state"] as StreamState,
      asked: row?.["asked"] as string,
      last: row?.["whole"] === 1 ? Number(last) : Number.POSITIVE_INFINITY,
    };
  }

  function begin(digest: string): void {
    sql.exec("CREATE TABLE stream (state TEXT, asked TEXT, whole INTEGER)");
    sql.exec("CREATE TABLE events (seq INTEGER PRIMARY KEY, bytes BLOB)");
    sql.exec("INSERT INTO stream VALUES ('open', ?, 1)", digest);
    ({ state, asked, last } = read());
    written = tailBytes = 0;
    isFull = false;
  }

  function append(event: string): void {
    last += 1;
    const bytes = encoder.encode(`id: ${last}\n${event}\n\n`);
    const size = bytes.byteLength;
    // by the event, not by the row: when a row is written is a matter of time
    const isOver = !isFull && (size > ROW_BYTES || written + tailBytes + size > logBytes);
    if (isOver || tailBytes + size > ROW_BYTES) write();
    if (isOver) fill();
    tail.push({ bytes, last });
    tailBytes += size;
    if (isFull) trim();
    else if (tail.length === ROW_EVENTS) write();
    else timer ??= setTimeout(write, ROW_MS);
  }

  /** A row is found by the id of its last event. */
  function write(): void {
    clearTimeout(timer);
    timer = undefined;
    if (isFull || tail.length === 0) return;
    written += tailBytes;
    sql.exec("INSERT INTO events VALUES (?, ?)", tail.at(-1)?.last, bytesOf(tail));
    tail = [];
    tailBytes = 0;
  }

  /** From here on the stream is for those who read it now: a log that never ends would cost without end. */
  function fill(): void {
    isFull = true;
    sql.exec("UPDATE stream SET whole = 0");
  }

  function trim(): void {
    while (tail.length > 1 && tailBytes > LIVE_BYTES) tailBytes -= tail.shift()?.bytes.byteLength ?? 0;
  }

  function end(how: StreamState): void {
    write();
    state = how;
    sql.exec("UPDATE stream SET state = ?", how);
    if (how !== "interrupted") return;
    sql.exec("UPDATE stream SET whole = 0");
    last = Number.POSITIVE_INFINITY;
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

/** The part of a row that begins with this event. No event has a blank line in it, so none can look like another's start. */
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
