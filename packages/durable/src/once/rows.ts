import { type OwnBytes, openBytes } from "@sluice/worker-proxy/internal";
import type { KeptJob } from "../objects/job.js";
import type { ObjectStorage } from "../objects/object.js";
import { createTables, type TableSteps } from "../objects/tables.js";

/** An answer as it is kept. */
export interface KeptAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: OwnBytes;
}

/** A request that is remembered. */
interface KnownRequest {
  /** Digest of the path and the body. */
  readonly asked: string;
  /** Unix milliseconds until which the answer is given. */
  readonly endsAt: number;
  /** The job behind it; undefined once there is an answer. */
  readonly job: KeptJob | undefined;
}

/** The request, with the answer's status once it has one; and the body of the answer, in parts. */
const TABLES: TableSteps = {
  first: "requests",
  steps: [
    [
      "CREATE TABLE requests (id INTEGER PRIMARY KEY CHECK (id = 1), asked TEXT, endsAt INTEGER, status INTEGER, headers TEXT)",
      "CREATE TABLE parts (place INTEGER PRIMARY KEY, bytes BLOB)",
    ],
  ],
};

/** Largest row; the platform's limit is 2 MB. */
const ROW_BYTES = 1_500_000;

/** Opens the rows of one request: one for it, and one for each 1.5 MB of its answer. */
export function openOnceRows(storage: ObjectStorage) {
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, TABLES);
  return {
    read,
    begin,
    reserved,
    end,
    answer,
    clear,
    endsAt: () => read()?.endsAt ?? 0,
    deleteAll: tables.deleteAll,
  };

  /** Reads the request; undefined where there is none. */
  function read(): KnownRequest | undefined {
    const known = row();
    if (!known) return undefined;
    const isOpen = known["status"] === null && known["headers"] !== null;
    const job = isOpen ? (JSON.parse(known["headers"] as string) as KeptJob) : undefined;
    return { asked: known["asked"] as string, endsAt: known["endsAt"] as number, job };
  }

  function row(): Record<string, unknown> | undefined {
    return tables.exist() ? sql.exec("SELECT * FROM requests").toArray()[0] : undefined;
  }

  function begin(asked: string, endsAt: number, job: KeptJob): void {
    tables.create();
    // the answer's headers take the place of the job
    sql.exec("INSERT INTO requests VALUES (1, ?, ?, NULL, ?)", asked, endsAt, JSON.stringify(job));
  }

  /** Stores what was reserved for the job. */
  function reserved(job: KeptJob): void {
    sql.exec("UPDATE requests SET headers = ?", JSON.stringify(job));
  }

  function end({ status, headers, bytes }: KeptAnswer): void {
    // of an answer whose end could not be stored
    sql.exec("DELETE FROM parts");
    for (let at = 0; at < bytes.byteLength; at += ROW_BYTES)
      sql.exec("INSERT INTO parts VALUES (?, ?)", at, bytes.slice(at, at + ROW_BYTES));
    sql.exec("UPDATE requests SET status = ?, headers = ?", status, JSON.stringify(headers));
  }

  /** Reads the answer; undefined where the request has no end. */
  function answer(): KeptAnswer | undefined {
    const { status, headers } = row() ?? {};
    if (typeof status !== "number") return undefined;
    const bytes = openBytes();
    for (const part of sql.exec("SELECT bytes FROM parts ORDER BY place").toArray())
      bytes.add(new Uint8Array(part["bytes"] as ArrayBuffer));
    return { status, headers: JSON.parse(headers as string), bytes: bytes.take() };
  }

  function clear(): void {
    sql.exec("DELETE FROM requests");
    sql.exec("DELETE FROM parts");
  }
}
