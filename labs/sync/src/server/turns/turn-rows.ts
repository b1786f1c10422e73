import type { Reader, Transaction } from "@sluice/worker-proxy/plugin";
import { commitRecords, type OpenCollection, openCollection, readRows, type Write } from "../commit.js";
import { closeMessage, parseMessage, type ResponseEnd } from "./turn-messages.js";

/** Duration of a lease without a renewal, and time for which an ended turn is stored, in milliseconds. */
export const LEASE_MS = 20_000;
export const ENDED_MS = 7 * 86_400_000;

/** State of a turn, as devices see it. */
export type TurnState = "running" | "waiting" | "done" | "stopped" | "failed";

/** A row of `sync_turns`. */
export interface TurnRow {
  readonly turn: string;
  readonly collection: string;
  readonly collection_id: number;
  readonly question: string;
  readonly tip: string;
  readonly state: TurnState;
  readonly code: string | null;
  readonly message: string | null;
  readonly request: string;
  readonly owner: string;
  readonly alive_until: number;
  readonly stop: number;
  readonly ended_at: number | null;
}

/** The fields of a start request that a run needs. They are deleted when the turn ends. */
export type TurnRequest = {
  readonly model: string;
  readonly options: { readonly [name: string]: never };
  readonly user: { readonly id: string; readonly session?: string; readonly address?: string };
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

/** The end of a turn. */
export type TurnEnd = {
  readonly state: "done" | "stopped" | "failed";
  readonly code: string | null;
  readonly message: string | null;
};

/** The state of a turn, with the calls that wait. */
export type TurnReport = {
  readonly turn: string;
  readonly state: TurnState;
  readonly code: string | null;
  readonly message: string | null;
  readonly calls: readonly CallRow[];
};

/** Schedules the next check of a turn. */
export type PlanTurn = (tx: Transaction, turn: string, at: number) => Promise<void>;

const LOST: TurnEnd = {
  state: "failed",
  code: "turn_lost",
  message: "the server ended during this turn; it may be billed, and was not sent again",
};
const UNDECIDED: TurnEnd = {
  state: "failed",
  code: "decision_timeout",
  message: "nobody decided about a call in time",
};

export async function readTurn({ key, query }: Reader, turn: string): Promise<TurnRow | undefined> {
  const [row] = await query<TurnRow>("SELECT * FROM sync_turns WHERE key = ? AND turn = ?", key, turn);
  return row;
}

export function readCalls({ key, query }: Reader, turn: string): Promise<readonly CallRow[]> {
  return query<CallRow>(
    `SELECT call, record, name, wants, decision, detail, account, device FROM sync_calls
      WHERE key = ? AND turn = ? ORDER BY call`,
    ...[key, turn],
  );
}

const DELETED: TurnEnd = {
  state: "failed",
  code: "record_deleted",
  message: "a device deleted the response that waited",
};

/** Reads the state of a turn, and ends it if its run or its wait is over. */
export async function reportTurn(
  tx: Transaction,
  plan: PlanTurn,
  turn: string,
): Promise<TurnReport | undefined> {
  const row = await readTurn(tx, turn);
  if (!row) return undefined;
  const late = await findLateEnd(tx, row);
  const { state, code, message } = late ?? row;
  if (late) await endTurn(tx, plan, row, late);
  const calls = state === "waiting" ? await readCalls(tx, turn) : [];
  return { turn, state, code, message, calls: calls.map((call) => ({ ...call })) };
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
export async function endTurn(
  tx: Transaction,
  plan: PlanTurn,
  row: TurnRow,
  { state, code, message }: TurnEnd,
): Promise<void> {
  await tx.query(
    `UPDATE sync_turns SET state = ?, code = ?, message = ?, ended_at = ?, request = '{}', stop = 0
      WHERE key = ? AND turn = ?`,
    ...[state, code, message, tx.now, tx.key, row.turn],
  );
  await plan(tx, row.turn, tx.now + ENDED_MS);
  await changeTurn(tx, row, {
    outcome: state === "stopped" ? "stopped" : "truncated",
    ...(code !== null && { error: { code, message: message ?? code } }),
    callError: state === "stopped" ? "the user stopped before the call had a result" : `${message ?? code}`,
  });
}

/**
 * Closes the newest response of a turn, if it is open and the turn wrote it. Commits even without a record, so that
 * devices get a change event.
 */
export async function changeTurn(tx: Transaction, row: TurnRow, end?: ResponseEnd): Promise<void> {
  const collection = await openCollection(tx, row.collection, undefined);
  if ("failed" in collection) return;
  const closed = end && row.tip !== row.question ? await closeTip(tx, collection, row, end) : undefined;
  await commitRecords(tx, collection, closed ? [closed] : []);
}

/** Returns the closed newest response of a turn; undefined if it is not open, or the turn did not write it. */
async function closeTip(
  tx: Transaction,
  collection: OpenCollection,
  row: TurnRow,
  end: ResponseEnd,
): Promise<Write | undefined> {
  const stored = (await readRows(tx, collection, [row.tip])).get(row.tip);
  if (stored?.turn !== row.turn) return undefined;
  const [{ value } = { value: null }] = await tx.query<{ value: string | null }>(
    "SELECT value FROM sync_records WHERE key = ? AND collection = ? AND record = ?",
    ...[tx.key, row.collection_id, row.tip],
  );
  const open = parseMessage(value);
  const closed = open && closeMessage(open, end);
  if (!closed || closed === open) return undefined;
  return { record: row.tip, value: JSON.stringify(closed), turn: row.turn, row: stored };
}
