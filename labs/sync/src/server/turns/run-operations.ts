import { operation, type Reader, reading, type Transaction } from "@sluice/worker-proxy/plugin";
import { commitRecords, findExceeded, openCollection, type Quota } from "../commit.js";
import { parseMessage } from "./turn-messages.js";
import {
  type CallRow,
  commitTurn,
  endTurn,
  expireTurn,
  LEASE_MS,
  readTurn,
  STOPPED,
  scheduleCheck,
  type TurnEnd,
  type TurnReport,
} from "./turn-rows.js";

/** A run of a turn. `owner` is new for each run: a run that was replaced changes nothing. */
export type Run = { readonly turn: string; readonly owner: string };

/** State of a lease in the database. */
export type LeaseState = { readonly isOwner: boolean; readonly isStopped: boolean };

/** A message of the thread of a question. */
export type PathRecord = { readonly record: string; readonly value: string; readonly turn: string | null };

/** A record that a run writes. */
type RunWrite = { readonly record: string; readonly value: string };

/** Reason why a record of a run was not stored. */
export type WriteFailure = "turn_lost" | "record_deleted" | "record_too_large" | "quota_exceeded";

/** A call that waits for a decision. */
export type WaitingCall = Pick<CallRow, "call" | "record" | "name" | "wants">;

/** Time limit of a decision, in milliseconds. */
const DECISION_MS = 86_400_000;
/** Maximum number of messages and of bytes that a run reads of a thread. */
const MAX_MESSAGES = 200;
const MAX_PATH_BYTES = 4 * 1024 * 1024;

/** Reads the turn of a run; null if the turn has ended, waits, or has another run. */
async function findRun(reader: Reader, { turn, owner }: Run): Promise<TurnReport | null> {
  const row = await readTurn(reader, turn);
  return row?.state === "running" && row.owner === owner ? row : null;
}

export const readRun = reading("sync.turn.run", findRun);

/** Reads the thread from its first message to `tip`. */
export const readPath = reading(
  "sync.turn.path",
  async ({ key, query }: Reader, input: { readonly collectionId: number; readonly tip: string }) => {
    const path: PathRecord[] = [];
    const seen = new Set<unknown>();
    let bytes = 0;
    for (let record: unknown = input.tip; typeof record === "string" && path.length < MAX_MESSAGES; ) {
      if (seen.has(record)) break;
      seen.add(record);
      const [row] = await query<{ value: string | null; turn: string | null; bytes: number }>(
        "SELECT value, turn, bytes FROM sync_records WHERE key = ? AND collection = ? AND record = ?",
        ...[key, input.collectionId, record],
      );
      bytes += row?.bytes ?? 0;
      const message = parseMessage(row?.value ?? null);
      if (!row || !message || (path.length > 0 && bytes > MAX_PATH_BYTES)) break;
      path.unshift({ record, value: row.value ?? "", turn: row.turn });
      record = message.parent;
    }
    return path;
  },
);

/** Checks whether a turn still belongs to a run. */
export const readLease = reading("sync.turn.lease", async (reader: Reader, run: Run): Promise<LeaseState> => {
  const row = await findRun(reader, run);
  return { isOwner: row !== null, isStopped: row?.stop === 1 };
});

/** Extends the lease of a run. */
export const renewLease = operation(
  "sync.turn.renew",
  async ({ key, query, now }: Transaction, { turn, owner }: Run): Promise<LeaseState> => {
    const [row] = await query<{ stop: number }>(
      `UPDATE sync_turns SET alive_until = ? WHERE key = ? AND turn = ? AND owner = ? AND state = 'running'
        AND alive_until > ? RETURNING stop`,
      ...[now + LEASE_MS, key, turn, owner, now],
    );
    return { isOwner: row !== undefined, isStopped: row?.stop === 1 };
  },
);

/** Writes records of a run: new records, and changes to earlier records of the same turn. */
export const writeRun = operation(
  "sync.turn.write",
  async (
    tx: Transaction,
    { writes, quota, ...run }: Run & { readonly writes: readonly RunWrite[]; readonly quota: Quota },
  ): Promise<WriteFailure | null> => {
    const turnRow = await findRun(tx, run);
    if (!turnRow) return "turn_lost";
    const { turn, question, tip } = turnRow;
    const ids = writes.map(({ record }) => record);
    const collection = await openCollection(tx, turnRow.collection, [question, ...ids]);
    const { user, rows } = collection;
    // the user deleted the conversation
    if (rows.get(question)?.is_tombstone !== 0) return "record_deleted";
    const all = writes.map((write) => ({ ...write, turn, row: rows.get(write.record) }));
    // a device wrote the record, or deleted it
    if (all.some(({ row }) => row && row.turn !== turn)) return "record_deleted";
    const exceeded = findExceeded(user, all, quota);
    if (exceeded) return exceeded;
    await commitRecords(tx, collection, all);
    await tx.query(
      "UPDATE sync_turns SET tip = ? WHERE key = ? AND turn = ?",
      ...[ids.at(-1) ?? tip, tx.key, turn],
    );
    return null;
  },
);

/** The end of a turn, or its calls that wait for decisions. */
export type RunEnd = TurnEnd | readonly WaitingCall[];

/** Ends a run: its turn is over, or waits for decisions. */
export const endRun = operation(
  "sync.turn.end",
  async (tx: Transaction, { end, ...run }: Run & { readonly end: RunEnd }): Promise<null> => {
    const row = await findRun(tx, run);
    if (!row) return null;
    const result = row.stop === 1 ? STOPPED : end;
    if ("state" in result) {
      await endTurn(tx, row, result);
      return null;
    }
    const until = tx.now + DECISION_MS;
    await Promise.all([
      tx.query(
        "UPDATE sync_turns SET state = 'waiting', alive_until = ? WHERE key = ? AND turn = ?",
        ...[until, tx.key, row.turn],
      ),
      ...result.map(({ call, record, name, wants }) =>
        tx.query(
          "INSERT INTO sync_calls (key, turn, call, record, name, wants) VALUES (?, ?, ?, ?, ?, ?)",
          ...[tx.key, row.turn, call, record, name, wants],
        ),
      ),
      scheduleCheck(tx, row.turn, until),
    ]);
    await commitTurn(tx, row);
    return null;
  },
);

/** The operations of runs. */
export const runOperations = [readRun, readPath, readLease, renewLease, writeRun, endRun, expireTurn];
