import { type Job, operation, type Reader, type Transaction } from "@sluice/worker-proxy/plugin";
import { commitRecords, type OpenCollection, openCollection, readValue, type Write } from "../commit.js";
import { closeMessage, parseMessage, type ResponseEnd } from "./turn-messages.js";

/** Duration of a lease without a renewal, and time for which an ended turn is stored, in milliseconds. */
export const LEASE_MS = 20_000;
const ENDED_MS = 7 * 86_400_000;

/** A row of `sync_turns`. */
export type TurnRow = {
  readonly turn: string;
  readonly collection: string;
  readonly collection_id: number;
  readonly question: string;
  readonly tip: string;
  readonly state: "running" | "waiting" | "done" | "stopped" | "failed";
  readonly code: string | null;
  readonly message: string | null;
  /** JSON of a `TurnRequest`. It is deleted when the turn ends. */
  readonly request: string;
  readonly owner: string;
  readonly alive_until: number;
  readonly stop: number;
  readonly ended_at: number | null;
};

/** A row of `sync_calls`. */
export type CallRow = {
  readonly call: string;
  readonly record: string;
  readonly name: string;
  readonly wants: "approval" | "output";
  readonly decision: "approve" | "deny" | "output" | null;
  /** JSON of the reason or the output. */
  readonly detail: string | null;
  readonly account: string | null;
  readonly device: string | null;
};

/** A turn, with its calls that need or needed a decision. */
export type TurnReport = TurnRow & { readonly calls: readonly CallRow[] };

/** The end of a turn. */
export type TurnEnd = {
  readonly state: "done" | "stopped" | "failed";
  readonly code: string | null;
  readonly message: string | null;
};

export const STOPPED: TurnEnd = { state: "stopped", code: null, message: null };
const LOST: TurnEnd = {
  state: "failed",
  code: "turn_lost",
  message: "the server ended during this turn; it may be billed, and was not sent again",
};
const UNDECIDED: TurnEnd = {
  state: "failed",
  code: "decision_timeout",
  message: "the user did not decide about a call in time",
};
const DELETED: TurnEnd = {
  state: "failed",
  code: "record_deleted",
  message: "a device deleted the response that waited",
};

/** Reads a turn and its calls; undefined for an unknown turn. */
export async function readTurn({ key, query }: Reader, turn: string): Promise<TurnReport | undefined> {
  const [[row], calls] = await Promise.all([
    query<TurnRow>("SELECT * FROM sync_turns WHERE key = ? AND turn = ?", key, turn),
    query<CallRow>(
      `SELECT call, record, name, wants, decision, detail, account, device FROM sync_calls
        WHERE key = ? AND turn = ? ORDER BY call`,
      ...[key, turn],
    ),
  ]);
  return row && { ...row, calls };
}

/** Reads a turn, and ends it if its run or its wait is over. */
export async function checkTurn(tx: Transaction, turn: string): Promise<TurnReport | undefined> {
  const row = await readTurn(tx, turn);
  const end = row && (await findLateEnd(tx, row));
  if (!end) return row;
  await endTurn(tx, row, end);
  return await readTurn(tx, turn);
}

/** Returns the end of a turn whose lease or wait has expired; undefined while the turn continues. */
export async function findLateEnd(tx: Transaction, row: TurnRow): Promise<TurnEnd | undefined> {
  const { state, alive_until } = row;
  if (state === "running") return alive_until > tx.now ? undefined : LOST;
  if (state !== "waiting") return undefined;
  // a device deleted or replaced the response with the calls
  if (!(await hasTip(tx, row))) return DELETED;
  return alive_until > tx.now ? undefined : UNDECIDED;
}

/** Checks that the newest response of a turn is stored, as the turn wrote it. */
async function hasTip({ key, query }: Transaction, row: TurnRow): Promise<boolean> {
  const found = await query(
    "SELECT 1 AS found FROM sync_records WHERE key = ? AND collection = ? AND record = ? AND turn = ?",
    ...[key, row.collection_id, row.tip, row.turn],
  );
  return found.length > 0;
}

/** Ends a turn, closes its last response, and deletes the user's data in its request. */
export async function endTurn(tx: Transaction, row: TurnRow, end: TurnEnd): Promise<void> {
  const { state, code, message } = end;
  await tx.query(
    `UPDATE sync_turns SET state = ?, code = ?, message = ?, ended_at = ?, request = '{}', stop = 0
      WHERE key = ? AND turn = ?`,
    ...[state, code, message, tx.now, tx.key, row.turn],
  );
  await scheduleCheck(tx, row.turn, tx.now + ENDED_MS);
  await commitTurn(tx, row, {
    outcome: state === "stopped" ? "stopped" : "truncated",
    ...(code !== null && { error: { code, message: message ?? code } }),
    callError: state === "stopped" ? "the user stopped before the call had a result" : `${message ?? code}`,
  });
}

/**
 * Commits a change of a turn. With an end, also closes the newest response of the turn, if it is open and the turn wrote
 * it. Commits even without a record, so that devices get a change event.
 */
export async function commitTurn(tx: Transaction, row: TurnRow, end?: ResponseEnd): Promise<void> {
  const collection = await openCollection(tx, row.collection, end ? [row.tip] : []);
  await commitRecords(tx, collection, end ? await closeTip(tx, collection, row, end) : []);
}

async function closeTip(
  tx: Transaction,
  { rows }: OpenCollection,
  { collection_id, tip, turn }: TurnRow,
  end: ResponseEnd,
): Promise<readonly Write[]> {
  const row = rows.get(tip);
  if (row?.turn !== turn) return [];
  const open = parseMessage(await readValue(tx, collection_id, tip));
  const closed = open && closeMessage(open, end);
  return closed === open ? [] : [{ record: tip, value: JSON.stringify(closed), turn, row }];
}

/** Schedules the next check of a turn. */
export async function scheduleCheck(tx: Transaction, turn: string, at: number): Promise<void> {
  await tx.schedule(turnTimer, { id: turn, at, input: { turn } });
}

type TurnInput = { readonly turn: string };

/** Ends a late turn, deletes a turn that ended {@link ENDED_MS} ago, or schedules the next check. */
export const expireTurn = operation("sync.turn.expire", async (tx: Transaction, { turn }: TurnInput) => {
  const row = await checkTurn(tx, turn);
  if (!row) return null;
  const at = row.ended_at === null ? row.alive_until : row.ended_at + ENDED_MS;
  if (row.ended_at === null || at > tx.now) await scheduleCheck(tx, turn, at);
  else
    await Promise.all([
      tx.query("DELETE FROM sync_turns WHERE key = ? AND turn = ?", tx.key, turn),
      tx.query("DELETE FROM sync_calls WHERE key = ? AND turn = ?", tx.key, turn),
    ]);
  return null;
});

/** Runs {@link expireTurn} when a turn may be over. */
export const turnTimer: Job<TurnInput> = {
  name: "sync.turn.timer",
  attempts: 20,
  run: async ({ host, key }, input) => void (await host.run(key, expireTurn, input)),
};
