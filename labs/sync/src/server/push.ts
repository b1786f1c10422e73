import type { Transaction } from "@sluice/worker-proxy/plugin";
import { readId, readWhole } from "./checks.js";
import {
  commitRecords,
  countBytes,
  MAX_RECORD_BYTES,
  type OpenCollection,
  openCollection,
  type RecordRow,
  readRows,
  type Write,
} from "./commit.js";
import { type Cursor, formatCursor, parseCursor } from "./cursor.js";
import { operation } from "./define.js";
import { type FailureCode, readOutput, SyncFailure } from "./failure.js";
import type { SyncRequest } from "./request.js";

/** Limits of the data of one user. */
export interface Quota {
  readonly records: number;
  readonly bytes: number;
}

/** A change of one record. */
type Change = {
  readonly record: string;
  /** The version that the change is based on; 0 for a new record. */
  readonly base: number;
  /** JSON; null deletes. */
  readonly value: string | null;
};

type PushInput = {
  readonly collection: string;
  readonly cursor: Cursor | null;
  readonly changes: readonly Change[];
};

/** The result of a change. */
type Result = {
  readonly record: string;
  readonly status: "stored" | "conflict" | "refused" | "skipped";
  readonly version: number;
  /** JSON of the stored value, for a conflict and a record of the server. */
  readonly value?: string | null;
  readonly code?: keyof typeof REFUSALS;
};

type PushOutput = { readonly results: readonly Result[]; readonly cursor: Cursor | null };

const MAX_CHANGES = 100;
const REFUSALS = {
  record_too_large: `a record has at most ${MAX_RECORD_BYTES} bytes`,
  quota_exceeded: "the space of this user is used up: delete conversations",
  server_record: "a turn of the server wrote this record: it can only be deleted",
};

/** Creates the operation that writes changes of a device. */
export function createPush(quota: Quota) {
  return operation(
    "push",
    async (tx: Transaction, input: PushInput): Promise<PushOutput | { readonly failed: FailureCode }> => {
      const { collection: name, cursor, changes } = input;
      const collection = await openCollection(tx, name, cursor);
      if ("failed" in collection) return collection;
      const rows = await readRows(
        tx,
        collection,
        changes.map(({ record }) => record),
      );
      const { results, writes } = await judgeChanges(tx, collection, changes, rows, quota);
      const stored = writes.length > 0 ? await commitRecords(tx, collection, writes) : collection.newest;
      const isNext = (collection.row?.version ?? 0) <= (cursor?.version ?? 0);
      return {
        results,
        cursor: isNext ? stored : null,
      };
    },
  );
}

/** Accepts or rejects the changes in order. After the first change that is not stored, skips the rest. */
async function judgeChanges(
  tx: Transaction,
  collection: OpenCollection,
  changes: readonly Change[],
  rows: ReadonlyMap<string, RecordRow>,
  quota: Quota,
): Promise<{ readonly results: readonly Result[]; readonly writes: readonly Write[] }> {
  const results: Result[] = [];
  const writes: Write[] = [];
  const left = {
    records: quota.records - collection.user.records,
    bytes: quota.bytes - collection.user.bytes,
  };
  let isStopped = false;
  for (const { record, base, value } of changes) {
    const row = rows.get(record);
    const version = row?.version ?? 0;
    const end = (status: Result["status"], more: Partial<Result> = {}) => {
      isStopped ||= status !== "stored";
      results.push({ record, status, version, ...more });
    };
    if (isStopped) {
      end("skipped", { version: base });
    } else if (version !== base) {
      const stored = row && row.is_tombstone === 0 ? await readValue(tx, collection, record) : null;
      if (stored === value) end("stored");
      else end("conflict", { value: stored });
    } else if (value === null && (!row || row.is_tombstone === 1)) {
      end("stored");
    } else {
      const write: Write = { record, value, turn: null, row };
      const code = findRefusal(write, left);
      if (code === "server_record") end("refused", { code, value: await readValue(tx, collection, record) });
      else if (code) end("refused", { code });
      else {
        end("stored", { version: collection.user.version + 1 });
        writes.push(write);
      }
    }
  }
  return { results, writes };
}

/** Returns the reason to refuse a write, or subtracts the write from `left` and returns undefined. */
function findRefusal(write: Write, left: { records: number; bytes: number }): Result["code"] {
  const { value, row } = write;
  if (value === null) {
    left.records += 1;
    left.bytes += row?.bytes ?? 0;
    return undefined;
  }
  if (row?.turn != null) return "server_record";
  const bytes = countBytes(write);
  if (bytes > MAX_RECORD_BYTES) return "record_too_large";
  const isNew = !row || row.is_tombstone === 1;
  const moreBytes = bytes - (isNew ? 0 : row.bytes);
  if ((isNew && left.records < 1) || (moreBytes > 0 && left.bytes < moreBytes)) return "quota_exceeded";
  left.records -= isNew ? 1 : 0;
  left.bytes -= moreBytes;
  return undefined;
}

async function readValue(
  { key, query }: Transaction,
  { row }: OpenCollection,
  record: string,
): Promise<string | null> {
  const [stored] = await query<{ value: string | null }>(
    "SELECT value FROM sync_records WHERE key = ? AND collection = ? AND record = ?",
    ...[key, row?.id ?? 0, record],
  );
  return stored?.value ?? null;
}

/** Serves a push of changes. @throws {SyncFailure} */
export async function servePush<Env>(
  push: ReturnType<typeof createPush>,
  { host, key, body }: SyncRequest<Env>,
): Promise<Response> {
  const collection = readId(body["collection"]);
  const cursor = body["cursor"] == null ? null : parseCursor(body["cursor"]);
  const changes = readChanges(body["changes"]);
  const pushed = readOutput(await host.run(key, push, { collection, cursor, changes }));
  const results = pushed.results.map(({ value, code, ...result }) => {
    const more = code && { code, message: REFUSALS[code] };
    const text = JSON.stringify({ ...result, ...more });
    // a stored value is JSON already
    return value === undefined ? text : `${text.slice(0, -1)},"value":${value}}`;
  });
  const next = JSON.stringify(pushed.cursor && formatCursor(pushed.cursor));
  return new Response(`{"results":[${results.join(",")}],"cursor":${next}}`, {
    headers: { "content-type": "application/json" },
  });
}

function readChanges(value: unknown): readonly Change[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CHANGES)
    throw new SyncFailure("invalid_request", `changes: send 1 to ${MAX_CHANGES}`);
  const changes = value.map((change: Readonly<Record<string, unknown>> | null) => {
    const { record, base, value: next } = change ?? {};
    if (next === undefined) throw new SyncFailure("invalid_request", "value: send JSON, or null to delete");
    return {
      record: readId(record),
      base: readWhole("base", base, [0, Number.MAX_SAFE_INTEGER]),
      value: next === null ? null : JSON.stringify(next),
    };
  });
  if (new Set(changes.map(({ record }) => record)).size < changes.length)
    throw new SyncFailure("invalid_request", "changes: send each record once");
  return changes;
}
