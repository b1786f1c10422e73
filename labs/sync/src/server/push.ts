import { operation, type Transaction } from "@sluice/worker-proxy/plugin";
import { readId, readWholeNumber } from "./checks.js";
import {
  addWrite,
  commitRecords,
  findExceeded,
  MAX_RECORD_BYTES,
  openCollection,
  type Quota,
  readValue,
  type UserRow,
  type Write,
} from "./commit.js";
import { type Cursor, formatCursor, parseCursor } from "./cursor.js";
import { createRefusal } from "./refusal.js";
import type { SyncRequest } from "./request.js";

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
  readonly quota: Quota;
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

const MAX_CHANGES = 100;
const REFUSALS = {
  record_too_large: `a record has at most ${MAX_RECORD_BYTES} bytes`,
  quota_exceeded: "the space of this user is used up: delete conversations",
  server_record: "a turn of the server wrote this record: it can only be deleted",
};

/** Writes changes of a device in order. After the first change that is not stored, skips the rest. */
export const push = operation("sync.push", async (tx: Transaction, input: PushInput) => {
  const { collection: name, cursor, changes, quota } = input;
  const ids = changes.map(({ record }) => record);
  const collection = await openCollection(tx, name, ids, cursor);
  const { user, rows } = collection;
  const id = collection.row?.id ?? 0;
  const results: Result[] = [];
  const writes: Write[] = [];
  let totals = user;
  const applyChange = async ({ record, base, value }: Change): Promise<Omit<Result, "record">> => {
    const row = rows.get(record);
    const version = row?.version ?? 0;
    const isStored = row !== undefined && row.is_tombstone === 0;
    if (version !== base) {
      const stored = isStored ? await readValue(tx, id, record) : null;
      return stored === value
        ? { status: "stored", version }
        : { status: "conflict", version, value: stored };
    }
    if (value === null && !isStored) return { status: "stored", version };
    const write: Write = { record, value, turn: null, row };
    const code = findRefusal(write, totals, quota);
    if (code === undefined) {
      writes.push(write);
      totals = addWrite(totals, write);
      return { status: "stored", version: user.version + 1 };
    }
    const stored = code === "server_record" && { value: await readValue(tx, id, record) };
    return { status: "refused", version, code, ...stored };
  };
  for (const change of changes) {
    const isSkipped = results.some(({ status }) => status !== "stored");
    const result = isSkipped
      ? { status: "skipped" as const, version: change.base }
      : await applyChange(change);
    results.push({ record: change.record, ...result });
  }
  const stored = writes.length > 0 ? await commitRecords(tx, collection, writes) : collection.newest;
  const isUnchanged = (collection.row?.version ?? 0) <= (cursor?.version ?? 0);
  // null: other devices have changed the collection, so the device must pull
  return { results, cursor: isUnchanged ? stored : null };
});

/** Returns the reason to refuse a write. A deletion is always accepted. */
function findRefusal(write: Write, user: UserRow, quota: Quota): Result["code"] {
  const { value, row } = write;
  if (value === null) return undefined;
  if (row?.turn != null) return "server_record";
  return findExceeded(user, [write], quota);
}

/** Serves a push of changes. @throws {Refusal} */
export async function servePush<Env>(quota: Quota, { host, key, body }: SyncRequest<Env>): Promise<Response> {
  const collection = readId(body["collection"]);
  const cursor = body["cursor"] == null ? null : parseCursor(body["cursor"]);
  const changes = readChanges(body["changes"]);
  const pushed = await host.run(key, push, { collection, cursor, changes, quota });
  const results = pushed.results.map(({ value, code, ...result }) => {
    const refusal = code && { code, message: REFUSALS[code] };
    const text = JSON.stringify({ ...result, ...refusal });
    // a stored value is JSON already
    return value === undefined ? text : `${text.slice(0, -1)},"value":${value}}`;
  });
  const cursorJSON = JSON.stringify(pushed.cursor && formatCursor(pushed.cursor));
  return new Response(`{"results":[${results.join(",")}],"cursor":${cursorJSON}}`, {
    headers: { "content-type": "application/json" },
  });
}

function readChanges(value: unknown): readonly Change[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_CHANGES)
    throw createRefusal("invalid_request", `changes: send 1 to ${MAX_CHANGES}`);
  const changes = value.map((change: Readonly<Record<string, unknown>> | null) => {
    const { record, base, value: newValue } = change ?? {};
    if (newValue === undefined) throw createRefusal("invalid_request", "value: send JSON, or null to delete");
    return {
      record: readId(record),
      base: readWholeNumber("base", base, [0, Number.MAX_SAFE_INTEGER]),
      value: newValue === null ? null : JSON.stringify(newValue),
    };
  });
  if (new Set(changes.map(({ record }) => record)).size < changes.length)
    throw createRefusal("invalid_request", "changes: send each record once");
  return changes;
}
