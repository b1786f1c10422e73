import { logError, type OwnBytes, openBytes } from "@sluice/worker-proxy/internal";
import type { KeptJob } from "../objects/job.js";
import type { ObjectSQL, ObjectStorage } from "../objects/object.js";
import { createTables, type TableSteps, type Tables } from "../objects/tables.js";

/** State of a stream. `interrupted`: the object was restarted, and the gateway's connection was lost with its memory. */
export type StreamState = "open" | "done" | "error" | "cancelled" | "interrupted";

/** Some events of the log as bytes, each with its `id`; `last` is the id of the last of them. */
interface LogPart {
  readonly bytes: Uint8Array;
  readonly last: number;
}

/** Events that came together, as they go to their readers. */
interface TailPart extends LogPart {
  readonly first: number;
}

/** Events of one stream, in the order of their ids, from 1 on. */
export interface EventLog {
  /** Undefined where there is no stream. */
  readonly state: StreamState | undefined;
  /** Digest of the request. */
  readonly asked: string | undefined;
  /** The `error.code` of the end. */
  readonly code: string | undefined;
  /** The job behind the answer; undefined once it is settled. */
  readonly job: KeptJob | undefined;
  /** Id of the last event; infinite where what followed is lost. */
  readonly last: number;
  begin(asked: string, job: KeptJob): void;
  /** Stores the job anew, with what is reserved for it. */
  keepJob(job: KeptJob): void;
  /** @param events lines of some events, without their `id` and their blank line */
  append(events: readonly string[]): void;
  /** @param reported the job, where its event is sent in the same turn: both are in one row */
  end(state: StreamState, code?: string, reported?: KeptJob): void;
  /** Stores the job that is reported in the same turn. */
  keepReported(reported: KeptJob): void;
  /** Forgets the job, which is settled. */
  settled(): void;
  /** Returns what follows the event with this id: undefined where nothing does yet, `"lost"` where it was not kept. */
  after(id: number): LogPart | "lost" | undefined;
  /** Deletes the events of an answer that has ended. The job stays. */
  empty(): void;
  /** Deletes everything. */
  forget(): Promise<void>;
}

/**
 * One table, since each row and each table costs: the stream itself has the place 0, events that were written together
 * that of the last of them. The last row has the end, too.
 */
const TABLES: TableSteps = {
  first: "answer",
  isImplied: true,
  steps: [
    [
      "CREATE TABLE answer (seq INTEGER PRIMARY KEY, bytes BLOB, state TEXT, code TEXT, whole INTEGER, asked TEXT, job TEXT)",
    ],
  ],
};

/** Largest row; the platform's limit is 2 MB. */
const ROW_BYTES = 1_500_000;
/**
 * Longest time for which events are in memory alone, in milliseconds. A row is what an answer costs, and a restart of the
 * object ends the answer anyway: with a row each 250 ms, one of 30 s would write nine times as many.
 */
const ROW_MS = 20_000;
/** Most bytes of events in memory where no more are stored: they are for the clients that read them now. */
const LIVE_BYTES = 65_536;

/** Size from which events that came together are parts of their own, in characters. */
const PART_CHARACTERS = 64 * 1024;
const encoder = new TextEncoder();

interface StreamRow {
  readonly state: StreamState | undefined;
  readonly asked: string | undefined;
  readonly code: string | undefined;
  readonly job: KeptJob | undefined;
  readonly last: number;
}
const NONE: StreamRow = { state: undefined, asked: undefined, code: undefined, job: undefined, last: 0 };

/**
 * Opens the log of a storage, or an empty one: nothing is written before `begin`. Many events share a row; those not
 * written yet are in memory, and are read from there. At `logBytes`, at an event too large for a row, and where the
 * storage fails, it keeps no more: the stream goes on for the clients that read it now.
 */
export function openEventLog(storage: ObjectStorage, logBytes: number): EventLog {
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, TABLES);
  /** Events that are not written yet. */
  let tail: TailPart[] = [];
  let tailBytes = 0;
  let keptBytes = 0;
  let isKept = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  takeOver(sql, tables.create);
  let { state, asked, code, job, last } = rowOf(sql, tables);

  return {
    get state() {
      return state;
    },
    get asked() {
      return asked;
    },
    get code() {
      return code;
    },
    get job() {
      return job;
    },
    get last() {
      return last;
    },
    begin,
    keepJob,
    keepReported: (reported) => void tryTo(() => keepJob(reported)),
    append,
    end,
    settled,
    after,
    empty,
    async forget() {
      dropTail();
      ({ state, asked, code, job, last } = NONE);
      keptBytes = 0;
      isKept = true;
      await tables.deleteAll();
    },
  };

  function begin(digest: string, begun: KeptJob): void {
    tables.create();
    const head = "INSERT INTO answer (seq, state, whole, asked, job) VALUES (0, 'open', 1, ?, ?)";
    sql.exec(head, digest, JSON.stringify(begun));
    ({ state, asked, code, job, last } = { ...NONE, state: "open", asked: digest, job: begun });
  }

  function keepJob(changed: KeptJob): void {
    job = changed;
    sql.exec("UPDATE answer SET job = ? WHERE seq = 0", JSON.stringify(job));
  }

  function settled(): void {
    job = undefined;
    sql.exec("UPDATE answer SET job = NULL WHERE seq = 0");
  }

  function append(events: readonly string[]): void {
    for (const part of partsOf(events, last)) {
      last = part.last;
      add(part);
    }
  }

  function add(part: TailPart): void {
    const { byteLength } = part.bytes;
    if (tailBytes + byteLength > ROW_BYTES) write();
    if (keptBytes + byteLength > logBytes || byteLength > ROW_BYTES) stopKeeping();
    tail.push(part);
    tailBytes += byteLength;
    keptBytes += byteLength;
    if (!isKept) trim();
    else timer ??= setTimeout(() => write(), ROW_MS);
  }

  /** Writes what is in memory as one row, found by the id of its last event. Returns false where nothing was written. */
  function write(...ended: readonly [] | readonly [StreamState, string | null, string | null]): boolean {
    clearTimeout(timer);
    timer = undefined;
    const newest = tail.at(-1);
    if (!isKept || !newest) return false;
    return tryTo(() => {
      const row = "INSERT INTO answer (seq, bytes, state, code, job, whole) VALUES (?, ?, ?, ?, ?, 1)";
      const [how = null, endCode = null, reported = null] = ended;
      sql.exec(row, newest.last, bytesOf(tail), how, endCode, reported);
      tail = [];
      tailBytes = 0;
    });
  }

  function stopKeeping(): void {
    if (!isKept) return;
    write();
    isKept = false;
    tryTo(() => sql.exec("UPDATE answer SET whole = 0 WHERE seq = 0"));
  }

  function tryTo(change: () => void): boolean {
    try {
      change();
      return true;
    } catch {
      isKept = false;
      logError("streamLogObject: its storage failed; the answer goes on, but can't be resumed");
      return false;
    }
  }

  function trim(): void {
    while (tail.length > 1 && tailBytes > LIVE_BYTES) tailBytes -= tail.shift()?.bytes.byteLength ?? 0;
  }

  function end(how: StreamState, endCode?: string, reported?: KeptJob): void {
    state = how;
    code = endCode;
    job = reported ?? job;
    const stored = reported ? JSON.stringify(reported) : null;
    if (how === "interrupted") {
      isKept = false;
      last = Number.POSITIVE_INFINITY;
    } else if (write(how, endCode ?? null, stored)) return;
    const ended = "UPDATE answer SET state = ?, whole = ?, code = ?, job = coalesce(?, job) WHERE seq = 0";
    tryTo(() => sql.exec(ended, how, isKept ? 1 : 0, endCode ?? null, stored));
  }

  function empty(): void {
    dropTail();
    last = Number.POSITIVE_INFINITY;
    // in one turn: the end and the job of the last row are in the first one from now on
    sql.exec("DELETE FROM answer WHERE seq > 0");
    const ended = "UPDATE answer SET state = ?, whole = 0, code = ?, job = ? WHERE seq = 0";
    sql.exec(ended, state, code ?? null, JSON.stringify(job));
  }

  function dropTail(): void {
    clearTimeout(timer);
    timer = undefined;
    tail = [];
    tailBytes = 0;
  }

  function after(id: number): LogPart | "lost" | undefined {
    if (id >= last) return undefined;
    const begin = tail[0]?.first ?? Number.POSITIVE_INFINITY;
    if (id + 1 < begin) return written(sql, id);
    return inTail(tail, id, last);
  }
}

/** Reads the stream as it is stored. */
function rowOf(sql: ObjectSQL, tables: Pick<Tables, "exist">): StreamRow {
  // a read must not write: an id that was never issued would leave rows behind
  const newest = "seq = 0 OR seq = (SELECT max(seq) FROM answer)";
  const rows = tables.exist() ? sql.exec(`SELECT * FROM answer WHERE ${newest} ORDER BY seq`).toArray() : [];
  const [head, end = head] = rows;
  if (!head || !end) return NONE;
  // the end is in the last row, or in the first one where no more was kept
  const { state, code, whole } = head["state"] === "open" && end["state"] ? end : head;
  return {
    state: state as StreamState,
    asked: head["asked"] as string,
    code: (code as string | null) ?? undefined,
    // a job that was reported is beside the end, until the first row has none any more
    job: head["job"] ? (JSON.parse((end["job"] ?? head["job"]) as string) as KeptJob) : undefined,
    last: whole === 1 && state !== "interrupted" ? Number(end["seq"]) : Number.POSITIVE_INFINITY,
  };
}

/** Takes over the rows of the first version of this package, which had two tables. */
function takeOver(sql: ObjectSQL, create: () => void): void {
  const isOld = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'stream'";
  if (sql.exec(isOld).toArray().length === 0) return;
  create();
  sql.exec("INSERT INTO answer (seq, state, whole, asked) SELECT 0, state, whole, asked FROM stream");
  sql.exec("INSERT INTO answer (seq, bytes) SELECT seq, bytes FROM events");
  sql.exec("DROP TABLE events");
  sql.exec("DROP TABLE stream");
}

/** Numbers events, and joins those that came together: a part is a write to a reader, and has to fit into a row. */
function partsOf(events: readonly string[], before: number): readonly TailPart[] {
  const parts: TailPart[] = [];
  let last = before;
  let first = last + 1;
  let text = "";
  for (const event of events) {
    if (text !== "" && text.length + event.length > PART_CHARACTERS) {
      parts.push({ bytes: encoder.encode(text), first, last });
      first = last + 1;
      text = "";
    }
    last += 1;
    text += `id: ${last}\n${event}\n\n`;
  }
  if (text !== "") parts.push({ bytes: encoder.encode(text), first, last });
  return parts;
}

/** Returns a row of what follows an event that is no more in memory. */
function written(sql: ObjectSQL, id: number): LogPart | "lost" {
  const [row] = sql.exec("SELECT seq, bytes FROM answer WHERE seq > ? ORDER BY seq LIMIT 1", id).toArray();
  if (!row) return "lost";
  return { bytes: from(id + 1, new Uint8Array(row["bytes"] as ArrayBuffer)), last: row["seq"] as number };
}

/** Returns what follows an event that is in memory. */
function inTail(tail: readonly TailPart[], id: number, last: number): LogPart {
  // from the end on: the usual reader has all but what came just now
  const at = tail.findLastIndex(({ first }) => first <= id + 1);
  const [first, ...more] = tail.slice(at);
  const bytes = from(id + 1, (first as TailPart).bytes);
  return { bytes: more.length === 0 ? bytes : bytesOf([{ bytes }, ...more]), last };
}

/** Returns the part of some events that begins with this one. No event has a blank line in it: none looks like another's start. */
function from(id: number, events: Uint8Array): Uint8Array {
  const start = encoder.encode(`id: ${id}\n`);
  if (start.every((byte, at) => events[at] === byte)) return events;
  const text = new TextDecoder().decode(events);
  return encoder.encode(text.slice(text.indexOf(`\n\nid: ${id}\n`) + 2));
}

function bytesOf(parts: readonly { readonly bytes: Uint8Array }[]): OwnBytes {
  const all = openBytes();
  for (const { bytes } of parts) all.add(bytes);
  return all.take();
}
