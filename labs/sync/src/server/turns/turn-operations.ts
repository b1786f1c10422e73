import type { Job, Reader, Transaction } from "@sluice/worker-proxy/plugin";
import { commitRecords, countBytes, MAX_RECORD_BYTES, openCollection, readRows } from "../commit.js";
import { job, operation, reading } from "../define.js";
import type { FailureCode } from "../failure.js";
import type { Quota } from "../push.js";
import { parseMessage } from "./turn-messages.js";
import {
  type CallRow,
  changeTurn,
  ENDED_MS,
  endTurn,
  findLateEnd,
  LEASE_MS,
  type PlanTurn,
  readCalls,
  readTurn,
  reportTurn,
  type TurnEnd,
  type TurnReport,
  type TurnRow,
} from "./turn-rows.js";

type Failed = { readonly failed: FailureCode };

type StartInput = {
  readonly turn: string;
  readonly collection: string;
  readonly question: string;
  /** JSON of the request. */
  readonly request: string;
  /** New for each request, so that two requests with the same turn id run the turn once. */
  readonly owner: string;
};

type DecideInput = {
  readonly turn: string;
  readonly record: string;
  readonly call: string;
  readonly decision: "approve" | "deny" | "output";
  readonly detail: string | null;
  readonly account: string;
  readonly device: string | null;
  readonly owner: string;
};

type Run = { readonly turn: string; readonly owner: string };

/** A record that a run writes. */
type RunWrite = { readonly record: string; readonly value: string };

/** State of a turn at the start of a run. */
export type RunState = {
  readonly collection: string;
  readonly collectionId: number;
  readonly question: string;
  readonly tip: string;
  readonly request: string;
  /** The calls of the tip, each with its decision. */
  readonly calls: readonly CallRow[];
};

/** State of a lease in the database. */
export type LeaseState = { readonly isOwner: boolean; readonly isStopped: boolean };

/** Reason why a record of a run was not stored. */
export type WriteFailure = "turn_lost" | "record_deleted" | "record_too_large" | "quota_exceeded";

/** A message of the thread of a question. */
export type PathRecord = { readonly record: string; readonly value: string; readonly turn: string | null };

/** Maximum number of open turns of a user. */
const MAX_OPEN = 20;
/** Maximum number of messages and of bytes that a run reads of a thread. */
const MAX_MESSAGES = 200;
const MAX_PATH_BYTES = 4 * 1024 * 1024;

/** Creates the operations of turns. */
export function createTurnOperations(quota: Quota, decisionTimeoutMs: number) {
  const plan: PlanTurn = (tx, turn, at) => tx.schedule(tend, { id: turn, at, input: { turn } });

  const start = operation(
    "turn.start",
    async (
      tx: Transaction,
      input: StartInput,
    ): Promise<(TurnReport & { readonly isNew: boolean }) | Failed> => {
      const { key, query, now } = tx;
      const known = await reportTurn(tx, plan, input.turn);
      if (known) return { ...known, isNew: (await readTurn(tx, input.turn))?.owner === input.owner };
      const open = await query<TurnRow>(
        "SELECT * FROM sync_turns WHERE key = ? AND ended_at IS NULL LIMIT ?",
        ...[key, MAX_OPEN],
      );
      const ends = await Promise.all(open.map((row) => findLateEnd(tx, row)));
      const running = open.filter((_, at) => !ends[at]);
      if (running.some(({ collection }) => collection === input.collection))
        return { failed: "turn_in_progress" };
      if (running.length >= MAX_OPEN) return { failed: "too_many_turns" };
      for (const [at, row] of open.entries()) if (ends[at]) await endTurn(tx, plan, row, ends[at]);
      const [question] = await query<{ value: string | null; collection: number }>(
        `SELECT r.value, r.collection FROM sync_collections c JOIN sync_records r ON r.key = c.key AND r.collection = c.id
          WHERE c.key = ? AND c.collection = ? AND r.record = ?`,
        ...[key, input.collection, input.question],
      );
      if (parseMessage(question?.value ?? null)?.message.role !== "user")
        return { failed: "unknown_question" };
      await query(
        `INSERT INTO sync_turns (key, turn, collection, collection_id, question, tip, state, request, owner, alive_until, stop)
          VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, 0)`,
        ...[key, input.turn, input.collection, question?.collection ?? 0, input.question, input.question],
        ...[input.request, input.owner, now + LEASE_MS],
      );
      await plan(tx, input.turn, now + LEASE_MS);
      return { turn: input.turn, state: "running", code: null, message: null, calls: [], isNew: true };
    },
  );

  const readState = operation(
    "turn.state",
    async (tx: Transaction, { turn }: { readonly turn: string }): Promise<TurnReport | Failed> =>
      (await reportTurn(tx, plan, turn)) ?? { failed: "unknown_turn" },
  );

  const stop = operation(
    "turn.stop",
    async (tx: Transaction, { turn }: { readonly turn: string }): Promise<TurnReport | Failed> => {
      const report = await reportTurn(tx, plan, turn);
      if (!report) return { failed: "unknown_turn" };
      if (report.state === "waiting") {
        const row = await readTurn(tx, turn);
        if (row) await endTurn(tx, plan, row, STOPPED);
      } else if (report.state === "running") {
        await tx.query("UPDATE sync_turns SET stop = 1 WHERE key = ? AND turn = ?", tx.key, turn);
        tx.publish();
      }
      return (await reportTurn(tx, plan, turn)) ?? report;
    },
  );

  const decide = operation(
    "turn.decide",
    async (
      tx: Transaction,
      input: DecideInput,
    ): Promise<(TurnReport & { readonly decided: CallRow; readonly isNew: boolean }) | Failed> => {
      const { key, query, now } = tx;
      const { turn, decision, detail, account, device, owner } = input;
      const report = await reportTurn(tx, plan, turn);
      if (!report) return { failed: "unknown_turn" };
      const calls = await readCalls(tx, turn);
      const row = calls.find(({ record, call }) => record === input.record && call === input.call);
      if (row && row.decision !== null)
        return { ...report, decided: { ...row }, isNew: (await readTurn(tx, turn))?.owner === owner };
      const isFit = row && (row.wants === "output") === (decision === "output");
      if (!isFit || report.state !== "waiting") return { failed: "not_waiting" };
      await query(
        "UPDATE sync_calls SET decision = ?, detail = ?, account = ?, device = ? WHERE key = ? AND turn = ? AND record = ? AND call = ?",
        ...[decision, detail, account, device, key, turn, input.record, input.call],
      );
      const turnRow = await readTurn(tx, turn);
      if (turnRow) await changeTurn(tx, turnRow);
      const decided: CallRow = { ...row, decision, detail, account, device };
      const isLast = calls.every((each) => each === row || each.decision !== null);
      if (!isLast)
        return {
          ...report,
          calls: calls.map((each) => (each === row ? decided : { ...each })),
          decided,
          isNew: false,
        };
      await query(
        "UPDATE sync_turns SET state = 'running', owner = ?, alive_until = ? WHERE key = ? AND turn = ?",
        ...[owner, now + LEASE_MS, key, turn],
      );
      await plan(tx, turn, now + LEASE_MS);
      return { ...report, state: "running", calls: [], decided, isNew: true };
    },
  );

  /** Reads the state of a turn for a run; null if another run has replaced it. */
  const readRun = reading(
    "turn.run",
    async (reader: Reader, { turn, owner }: Run): Promise<RunState | null> => {
      const row = await readTurn(reader, turn);
      if (row?.state !== "running" || row.owner !== owner) return null;
      const { collection, collection_id: collectionId, question, tip, request } = row;
      const calls = (await readCalls(reader, turn)).filter(({ record }) => record === tip);
      return { collection, collectionId, question, tip, request, calls: calls.map((call) => ({ ...call })) };
    },
  );

  const readPath = reading(
    "turn.path",
    async (
      { key, query }: Reader,
      { collectionId, tip }: { readonly collectionId: number; readonly tip: string },
    ): Promise<readonly PathRecord[]> => {
      const path: PathRecord[] = [];
      const seen = new Set<string>();
      let bytes = 0;
      for (let record: unknown = tip; typeof record === "string" && path.length < MAX_MESSAGES; ) {
        if (seen.has(record)) break;
        seen.add(record);
        const [row] = await query<{ value: string | null; turn: string | null; bytes: number }>(
          "SELECT value, turn, bytes FROM sync_records WHERE key = ? AND collection = ? AND record = ?",
          ...[key, collectionId, record],
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
  const readLease = reading(
    "turn.lease",
    async (reader: Reader, { turn, owner }: Run): Promise<LeaseState> => {
      const row = await readTurn(reader, turn);
      return { isOwner: row?.state === "running" && row.owner === owner, isStopped: row?.stop === 1 };
    },
  );

  /** Extends the lease of a run. */
  const renew = operation(
    "turn.renew",
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
  const write = operation(
    "turn.write",
    async (
      tx: Transaction,
      { turn, owner, writes }: Run & { readonly writes: readonly RunWrite[] },
    ): Promise<WriteFailure | null> => {
      const row = await readTurn(tx, turn);
      if (row?.state !== "running" || row.owner !== owner) return "turn_lost";
      const collection = await openCollection(tx, row.collection, undefined);
      if ("failed" in collection) return "record_deleted";
      const ids = writes.map(({ record }) => record);
      const rows = await readRows(tx, collection, [row.question, ...ids]);
      // the user deleted the conversation
      if (rows.get(row.question)?.is_tombstone !== 0) return "record_deleted";
      const all = writes.map((each) => ({ ...each, turn, row: rows.get(each.record) }));
      // a device wrote the record, or deleted it
      if (all.some((each) => each.row && each.row.turn !== turn)) return "record_deleted";
      if (all.some((each) => countBytes(each) > MAX_RECORD_BYTES)) return "record_too_large";
      const bytes = all.reduce((sum, each) => sum + countBytes(each) - (each.row?.bytes ?? 0), 0);
      const { user } = collection;
      const isFull =
        user.records + all.length - (rows.size - 1) > quota.records || user.bytes + bytes > quota.bytes;
      if (isFull && bytes > 0) return "quota_exceeded";
      await commitRecords(tx, collection, all);
      await tx.query(
        "UPDATE sync_turns SET tip = ? WHERE key = ? AND turn = ?",
        ids.at(-1) ?? row.tip,
        tx.key,
        turn,
      );
      return null;
    },
  );

  /** Ends a run: its turn is over, or waits for decisions. */
  const endRun = operation(
    "turn.end",
    async (
      tx: Transaction,
      { turn, owner, end, calls }: Run & { readonly end: TurnEnd | null; readonly calls: readonly CallRow[] },
    ): Promise<null> => {
      const row = await readTurn(tx, turn);
      if (row?.state !== "running" || row.owner !== owner) return null;
      if (end || row.stop === 1) {
        await endTurn(tx, plan, row, row.stop === 1 ? STOPPED : (end ?? STOPPED));
        return null;
      }
      const until = tx.now + decisionTimeoutMs;
      await Promise.all([
        tx.query(
          "UPDATE sync_turns SET state = 'waiting', alive_until = ? WHERE key = ? AND turn = ?",
          ...[until, tx.key, turn],
        ),
        ...calls.map(({ call, record, name, wants }) =>
          tx.query(
            "INSERT INTO sync_calls (key, turn, call, record, name, wants) VALUES (?, ?, ?, ?, ?, ?)",
            ...[tx.key, turn, call, record, name, wants],
          ),
        ),
        plan(tx, turn, until),
      ]);
      await changeTurn(tx, row);
      return null;
    },
  );

  /** Ends a late turn, deletes a turn that ended {@link ENDED_MS} ago, or schedules the next check. */
  const look = operation("turn.look", async (tx: Transaction, { turn }: { readonly turn: string }) => {
    const report = await reportTurn(tx, plan, turn);
    const row = await readTurn(tx, turn);
    if (!report || !row) return null;
    if (row.ended_at === null) await plan(tx, turn, row.alive_until);
    else if (row.ended_at + ENDED_MS > tx.now) await plan(tx, turn, row.ended_at + ENDED_MS);
    else
      await Promise.all([
        tx.query("DELETE FROM sync_turns WHERE key = ? AND turn = ?", tx.key, turn),
        tx.query("DELETE FROM sync_calls WHERE key = ? AND turn = ?", tx.key, turn),
      ]);
    return null;
  });

  const tend: Job<{ turn: string }> = job("turn.tend", 20, async ({ host, key }, input: { turn: string }) => {
    await host.run(key, look, input);
  });

  return {
    operations: { start, readState, stop, decide, readRun, readPath, readLease, renew, write, endRun, look },
    tend,
  };
}

const STOPPED: TurnEnd = { state: "stopped", code: null, message: null };

/** The operations of turns. */
export type TurnOperations = ReturnType<typeof createTurnOperations>["operations"];
