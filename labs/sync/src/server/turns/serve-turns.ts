import type { User } from "@sluice/worker-proxy";
import {
  type Job,
  type JSONValue,
  operation,
  type PluginRoute,
  type Transaction,
} from "@sluice/worker-proxy/plugin";
import { readId, readText } from "../checks.js";
import { createRefusal } from "../refusal.js";
import { createRoute, type SyncRequest } from "../request.js";
import { endRun, type Run } from "./run-operations.js";
import { parseMessage } from "./turn-messages.js";
import {
  type CallRow,
  checkTurn,
  commitTurn,
  endTurn,
  findLateEnd,
  LEASE_MS,
  STOPPED,
  scheduleCheck,
  type TurnReport,
  type TurnRow,
} from "./turn-rows.js";

const MAX_NAME = 100;
const MAX_REASON = 1_000;
const MAX_OPTIONS = 16 * 1024;
const MAX_OUTPUT = 256 * 1024;
/** Maximum number of open turns of a user. */
const MAX_OPEN = 20;
/** Fields of a request to the model that the server sets itself. */
const SERVER_FIELDS = ["model", "messages", "tools", "stream", "stream_options"];

/** The fields of a start request that a run needs. */
export type TurnRequest = {
  readonly model: string;
  readonly options: { readonly [name: string]: never };
  readonly user: User;
};

type TurnInput = { readonly turn: string };

/** @throws {Refusal} for an unknown turn */
async function getTurn(tx: Transaction, turn: string): Promise<TurnReport> {
  const row = await checkTurn(tx, turn);
  if (!row) throw createRefusal("unknown_turn");
  return row;
}

type StartInput = Run & {
  readonly collection: string;
  readonly question: string;
  /** JSON of a {@link TurnRequest}. */
  readonly request: string;
};

/** Stores a new turn. Returns the stored turn if its id is known. */
const startTurn = operation("sync.turn.start", async (tx: Transaction, input: StartInput) => {
  const { key, query, now } = tx;
  const { turn, owner, collection, question, request } = input;
  const known = await checkTurn(tx, turn);
  if (known) return known;
  const open = await query<TurnRow>(
    "SELECT * FROM sync_turns WHERE key = ? AND ended_at IS NULL LIMIT ?",
    ...[key, MAX_OPEN],
  );
  let running = 0;
  for (const row of open) {
    const end = await findLateEnd(tx, row);
    if (end) await endTurn(tx, row, end);
    else if (row.collection === collection) throw createRefusal("turn_in_progress");
    else running += 1;
  }
  if (running >= MAX_OPEN) throw createRefusal("too_many_turns");
  const [record] = await query<{ value: string | null; collection: number }>(
    `SELECT r.value, r.collection FROM sync_collections c JOIN sync_records r ON r.key = c.key AND r.collection = c.id
      WHERE c.key = ? AND c.collection = ? AND r.record = ?`,
    ...[key, collection, question],
  );
  if (!record || parseMessage(record.value)?.message.role !== "user") throw createRefusal("unknown_question");
  await query(
    `INSERT INTO sync_turns (key, turn, collection, collection_id, question, tip, state, request, owner, alive_until, stop)
      VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?, ?, 0)`,
    ...[key, turn, collection, record.collection, question, question, request, owner, now + LEASE_MS],
  );
  await scheduleCheck(tx, turn, now + LEASE_MS);
  return await getTurn(tx, turn);
});

const readState = operation("sync.turn.state", (tx: Transaction, { turn }: TurnInput) => getTurn(tx, turn));

const stopTurn = operation("sync.turn.stop", async (tx: Transaction, { turn }: TurnInput) => {
  const row = await getTurn(tx, turn);
  if (row.state === "waiting") await endTurn(tx, row, STOPPED);
  else if (row.state === "running") {
    await tx.query("UPDATE sync_turns SET stop = 1 WHERE key = ? AND turn = ?", tx.key, turn);
    tx.publish();
  }
  return await getTurn(tx, turn);
});

type DecideInput = Run & Pick<CallRow, "record" | "call" | "decision" | "detail" | "account" | "device">;

/** Stores the first decision of a call. After the last call is decided, the turn belongs to a new run. */
const decideCall = operation("sync.turn.decide", async (tx: Transaction, input: DecideInput) => {
  const { key, query, now } = tx;
  const { turn, owner, decision, detail, account, device } = input;
  const row = await getTurn(tx, turn);
  const call = findCall(row, input);
  if (call && call.decision !== null) return row;
  const isExpected = call && (call.wants === "output") === (decision === "output");
  if (!isExpected || row.state !== "waiting") throw createRefusal("not_waiting");
  await query(
    "UPDATE sync_calls SET decision = ?, detail = ?, account = ?, device = ? WHERE key = ? AND turn = ? AND record = ? AND call = ?",
    ...[decision, detail, account, device, key, turn, input.record, input.call],
  );
  await commitTurn(tx, row);
  if (row.calls.every((other) => other === call || other.decision !== null)) {
    await query(
      "UPDATE sync_turns SET state = 'running', owner = ?, alive_until = ? WHERE key = ? AND turn = ?",
      ...[owner, now + LEASE_MS, key, turn],
    );
    await scheduleCheck(tx, turn, now + LEASE_MS);
  }
  return await getTurn(tx, turn);
});

function findCall({ calls }: TurnReport, { record, call }: DecideInput): CallRow | undefined {
  return calls.find((row) => row.record === record && row.call === call);
}

export const turnOperations = [startTurn, readState, stopTurn, decideCall];

/** Creates the routes of turns. */
export function createTurnRoutes<Env>(
  run: Job<Run>,
  host: Parameters<typeof createRoute<Env>>[0],
): readonly PluginRoute<Env>[] {
  const serveById =
    (step: typeof stopTurn | typeof readState) =>
    async ({ host: bound, key, body }: SyncRequest<Env>) =>
      formatReport(await bound.run(key, step, { turn: readId(body["turn"]) }));
  return [
    createRoute(host, "turns/start", start, { isFree: false }),
    createRoute(host, "turns/stop", serveById(stopTurn)),
    createRoute(host, "turns/state", serveById(readState)),
    createRoute(host, "turns/decide", decide),
  ];

  async function start(request: SyncRequest<Env>): Promise<JSONValue> {
    const { host: bound, key, body, admitted } = request;
    const { id, session, address } = admitted.user;
    const user: User = {
      id,
      ...(session !== undefined && { session }),
      ...(address !== undefined && { address }),
    };
    const input: StartInput = {
      turn: readId(body["turn"]),
      collection: readId(body["collection"]),
      question: readId(body["question"]),
      request: JSON.stringify(readRequest(body, user)),
      owner: crypto.randomUUID(),
    };
    const report = await bound.run(key, startTurn, input);
    await startRun(request, input, report);
    return formatReport(report);
  }

  async function decide(request: SyncRequest<Env>): Promise<JSONValue> {
    const { host: bound, key, body, account } = request;
    const { decision, device } = body;
    if (decision !== "approve" && decision !== "deny" && decision !== "output")
      throw createRefusal("invalid_request", "decision: send approve, deny or output");
    const input: DecideInput = {
      turn: readId(body["turn"]),
      record: readId(body["record"]),
      call: readId(body["call"]),
      decision,
      detail: readDetail(body, decision),
      account,
      device: device == null ? null : readText("device", device, MAX_NAME),
      owner: crypto.randomUUID(),
    };
    const report = await bound.run(key, decideCall, input);
    await startRun(request, input, report);
    const { record, call } = input;
    const { decision: first = null, account: by = null, device: name = null } = findCall(report, input) ?? {};
    return {
      ...formatReport(report),
      decided: { record, call, decision: first, by: { account: by, device: name } },
    };
  }

  /** Starts the run of a turn that this request gave its owner. If the run can't start, ends the turn. */
  async function startRun(
    { host: bound, key }: SyncRequest<Env>,
    { turn, owner }: Run,
    report: TurnReport,
  ): Promise<void> {
    if (report.owner !== owner) return;
    try {
      await bound.start(key, run, { turn, owner });
    } catch (error) {
      const [state, message] = ["failed", "the server can't run this turn now"] as const;
      const end = { state, code: "server_busy", message };
      await bound.run(key, endRun, { turn, owner, end }).catch(() => {});
      throw error;
    }
  }
}

/** @throws {Refusal} */
function readRequest({ model, options = {} }: SyncRequest<never>["body"], user: User): TurnRequest {
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  if (!isObject || JSON.stringify(options).length > MAX_OPTIONS)
    throw createRefusal("invalid_request", "options: send the parameters of the request to the model");
  const serverField = SERVER_FIELDS.find((name) => Object.hasOwn(options, name));
  if (serverField) throw createRefusal("invalid_request", `options: the server itself sets ${serverField}`);
  return { model: readText("model", model, MAX_NAME), options: options as TurnRequest["options"], user };
}

/** Reads the reason of a denial or the output of a call, as JSON. @throws {Refusal} */
function readDetail({ reason, output }: SyncRequest<never>["body"], decision: string): string | null {
  if (decision === "approve") return null;
  if (decision === "deny")
    return reason == null ? null : JSON.stringify(readText("reason", reason, MAX_REASON));
  const text = JSON.stringify(output ?? null);
  if (text.length > MAX_OUTPUT)
    throw createRefusal("invalid_request", `output: send at most ${MAX_OUTPUT} characters of JSON`);
  return text;
}

function formatReport({ turn, state, code, message, calls }: TurnReport): Record<string, JSONValue> {
  const waiting = calls
    .filter(({ decision }) => decision === null)
    .map(({ record, call, name, wants }) => ({ record, call, name, for: wants }));
  return {
    turn,
    state,
    ...(code !== null && { code }),
    ...(message !== null && { message }),
    ...(state === "waiting" && { calls: waiting }),
  };
}
