import type { User } from "@sluice/worker-proxy";
import { connectAs, type Job, type JSONValue, type PluginRoute } from "@sluice/worker-proxy/plugin";
import { readId, readText } from "../checks.js";
import { readOutput, SyncFailure } from "../failure.js";
import { createRoute, type RouteOptions, type SyncRequest } from "../request.js";
import type { TurnOperations } from "./turn-operations.js";
import type { TurnSetup } from "./turn-options.js";
import type { CallRow, TurnReport, TurnRequest } from "./turn-rows.js";

const MAX_NAME = 100;
const MAX_OPTIONS = 16 * 1024;
const MAX_DETAIL = 256 * 1024;
/** Fields of a request to the model that the server sets itself. */
const OWN_FIELDS = ["model", "messages", "tools", "stream", "stream_options"];

interface TurnRoutes<Env> {
  readonly setup: TurnSetup<Env>;
  readonly operations: TurnOperations;
  readonly run: Job<{ turn: string; owner: string }>;
  readonly host: RouteOptions<Env>["host"];
}

/** Creates the routes of turns. */
export function createTurnRoutes<Env>({ setup, operations, run, host }: TurnRoutes<Env>): PluginRoute<Env>[] {
  const serveById =
    (operation: TurnOperations["stop"] | TurnOperations["readState"]) =>
    async ({ host: bound, key, body }: SyncRequest<Env>) =>
      formatReport(readOutput(await bound.run(key, operation, { turn: readId(body["turn"]) })));
  return [
    createRoute("turns/start", { host, isPaid: true, serve: start }),
    createRoute("turns/stop", { host, serve: serveById(operations.stop) }),
    createRoute("turns/state", { host, serve: serveById(operations.readState) }),
    createRoute("turns/decide", { host, serve: decide }),
  ];

  async function start(request: SyncRequest<Env>): Promise<JSONValue> {
    const { host: bound, key, body, admitted } = request;
    const { id, session, address } = admitted.user;
    const user: User = {
      id,
      ...(session !== undefined && { session }),
      ...(address !== undefined && { address }),
    };
    // throws before anything is stored, if the proxy can't run turns
    connectAs(setup.proxy(), user, admitted.env);
    const input = {
      turn: readId(body["turn"]),
      collection: readId(body["collection"]),
      question: readId(body["question"]),
      request: JSON.stringify(readRequest(body, user)),
      owner: crypto.randomUUID(),
    };
    const { isNew, ...report } = readOutput(await bound.run(key, operations.start, input));
    return formatReport(isNew ? await begin(request, input, report) : report);
  }

  async function decide(request: SyncRequest<Env>): Promise<JSONValue> {
    const { host: bound, key, body, account } = request;
    const { decision, device } = body;
    if (decision !== "approve" && decision !== "deny" && decision !== "output")
      throw new SyncFailure("invalid_request", "decision: send approve, deny or output");
    const input = {
      turn: readId(body["turn"]),
      record: readId(body["record"]),
      call: readId(body["call"]),
      decision: decision as "approve" | "deny" | "output",
      detail: readDetail(body, decision),
      account,
      device: device == null ? null : readText("device", device, MAX_NAME),
      owner: crypto.randomUUID(),
    };
    const { isNew, decided, ...report } = readOutput(await bound.run(key, operations.decide, input));
    const { record, call, account: by } = decided;
    return {
      ...formatReport(isNew ? await begin(request, input, report) : report),
      decided: { record, call, decision: decided.decision, by: { account: by, device: decided.device } },
    };
  }

  /** Starts a run. If it can't start, ends the turn. */
  async function begin(
    { host: bound, key }: SyncRequest<Env>,
    { turn, owner }: { readonly turn: string; readonly owner: string },
    report: TurnReport,
  ): Promise<TurnReport> {
    try {
      await bound.start(key, run, { turn, owner });
      return report;
    } catch (error) {
      const end = {
        state: "failed",
        code: "server_busy",
        message: "the server can't run this turn now",
      } as const;
      await bound.run(key, operations.endRun, { turn, owner, end, calls: [] }).catch(() => {});
      throw error;
    }
  }
}

/** @throws {SyncFailure} */
function readRequest({ model, options = {} }: SyncRequest<never>["body"], user: User): TurnRequest {
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  if (!isObject || JSON.stringify(options).length > MAX_OPTIONS)
    throw new SyncFailure("invalid_request", "options: send the parameters of the request to the model");
  const own = OWN_FIELDS.find((name) => Object.hasOwn(options, name));
  if (own) throw new SyncFailure("invalid_request", `options: the server itself sets ${own}`);
  return { model: readText("model", model, MAX_NAME), options: options as TurnRequest["options"], user };
}

/** Reads the reason of a denial or the output of a call, as JSON. @throws {SyncFailure} */
function readDetail({ reason, output }: SyncRequest<never>["body"], decision: string): string | null {
  if (decision === "approve") return null;
  if (decision === "deny")
    return reason == null ? null : JSON.stringify(readText("reason", reason, MAX_NAME * 10));
  const text = JSON.stringify(output ?? null);
  if (text.length > MAX_DETAIL)
    throw new SyncFailure("invalid_request", `output: send at most ${MAX_DETAIL} characters of JSON`);
  return text;
}

function formatReport({ turn, state, code, message, calls }: TurnReport): {
  readonly [name: string]: JSONValue;
} {
  return {
    turn,
    state,
    ...(code !== null && { code }),
    ...(message !== null && { message }),
    ...(state === "waiting" && { calls: calls.filter(({ decision }) => decision === null).map(formatCall) }),
  };
}

function formatCall({ record, call, name, wants }: CallRow): JSONValue {
  return { record, call, name, for: wants };
}
