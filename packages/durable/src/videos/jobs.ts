import type { HostContext, JobContext, JobEvent } from "@sluice/worker-proxy";
import { hashText, type Server } from "@sluice/worker-proxy/plugin";
import { addDeadLetter, DEAD_LETTERS_KEY, removeDeadLetter } from "./dead-letter-rows.js";
import {
  type Attempted,
  beginDelivery,
  type DeliveryResult,
  endDelivery,
  findDelivery,
  LOST_ATTEMPT,
  MAX_ATTEMPTS,
} from "./deliveries.js";
import { DeliveryError, type EndedTask, type EndHandler, type NamedHandlers } from "./end-handler.js";
import { applyPoll, beginPoll, type WatchRules } from "./polls.js";
import { queryTask } from "./query-task.js";
import { rejectOnAbort } from "./reject-on-abort.js";
import { createWatchEvent, getOutcome } from "./report.js";
import type { RowId } from "./timers.js";

/** Longest time of one attempt of a handler, in milliseconds. */
const HANDLER_MS = 10 * 60_000;

/** The parts of a plugin that its jobs need. */
export interface WatchParts<Env> {
  readonly server: () => Server<Env>;
  readonly rules: WatchRules;
  readonly handlers: NamedHandlers<Env>;
}

/** The place of a user's rows. */
export type Place = Pick<HostContext, "host" | "key" | "env">;

/** Polls a task once, unless that is not due, and stores the result. */
export async function pollTask<Env>(parts: WatchParts<Env>, { host, key, env }: Place, id: string) {
  const { rules, handlers } = parts;
  const server = parts.server();
  const run = crypto.randomUUID();
  const begun = await host.run(key, beginPoll, { id, run, rules });
  if (begun.type === "none") return;
  if (begun.type === "abandoned")
    return server.report(createWatchEvent(begun.task, "orphaned", "no_reader"), env as Env);
  const [result, hash] = await Promise.all([
    queryTask(server.settings, id, env as Env),
    hashText(`end\n${begun.task.userId}\n${id}`),
  ]);
  const over = await host.run(key, applyPoll, {
    ...{ id, run, rules, result, hash, random: Math.random() },
    handlers: { created: handlers.getNames(true), other: handlers.getNames(false) },
  });
  if (over?.end) server.report(createWatchEvent(over, ...getOutcome(over, over.end)), env as Env);
}

/** Runs one attempt of a handler. */
export async function deliverEnd<Env>(parts: WatchParts<Env>, context: JobContext, { id }: RowId) {
  const { host, key } = context;
  const run = crypto.randomUUID();
  const begun = await host.run(key, beginDelivery, { id, run });
  if (!begun) return;
  const { handler: name, ended } = begun;
  const handler = parts.handlers.get(name);
  const report = (result: DeliveryResult, attempted: Attempted, error?: unknown) =>
    reportAttempt(parts, context.env as Env, { name, kind: handler?.kind, ended, result, attempted, error });
  if ("lost" in begun) return report(begun.lost, LOST_ATTEMPT);
  const { attempted, error } = await runHandler(context, id, handler, begun);
  const result = await host.run(key, endDelivery, { id, run, attempted });
  report(result, attempted, error);
}

/** Calls the handler, for ten minutes at most. What it throws is its result. */
async function runHandler<Env>(
  { host, key, env, subscribe, signal: closing }: JobContext,
  id: string,
  handler: EndHandler<Env> | undefined,
  { ended, attempts }: { readonly ended: EndedTask; readonly attempts: number },
): Promise<{ readonly attempted: Attempted; readonly error?: unknown }> {
  const controller = new AbortController();
  const late = new DOMException(`it took longer than ${HANDLER_MS} ms`, "TimeoutError");
  const timer = setTimeout(() => controller.abort(late), HANDLER_MS);
  const unsubscribe = subscribe(() => {
    void host.run(key, findDelivery, { id }).then(
      (row) => row ?? controller.abort(new DOMException("the user was erased", "AbortError")),
      () => {}, // the database is away: the attempt continues
    );
  });
  const signal = AbortSignal.any([controller.signal, closing]);
  try {
    if (!handler) throw new DeliveryError("videoWatch has no handler of this name any more");
    const attempt = { env: env as Env, host, key, attempt: attempts, signal };
    const received = await Promise.race([handler(ended, attempt), rejectOnAbort(signal)]);
    return { attempted: received ? { upstreamStatus: received.upstreamStatus } : {} };
  } catch (error) {
    return { attempted: readFailure(error), error };
  } finally {
    clearTimeout(timer);
    unsubscribe();
  }
}

function readFailure(error: unknown): Attempted {
  if (!(error instanceof DeliveryError))
    return { failure: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
  const { message: failure, upstreamStatus, isRefusal } = error;
  return { failure, isRefusal, ...(upstreamStatus !== undefined && { upstreamStatus }) };
}

interface ReportedAttempt {
  readonly name: string;
  readonly kind: JobEvent["kind"] | undefined;
  readonly ended: EndedTask;
  readonly result: DeliveryResult;
  readonly attempted: Attempted;
  readonly error: unknown;
}

/** Logs a failed attempt with its cause, and reports the event of a handler that has a kind. */
function reportAttempt<Env>(
  { server }: WatchParts<Env>,
  env: Env,
  { name, kind, ended, result, attempted, error }: ReportedAttempt,
): void {
  const { setup, report } = server();
  const { id, userId: user, gatewayId: taskId, model, requestId, endedAt } = ended;
  const { failure, upstreamStatus, isRefusal } = attempted;
  const attempts = result?.attempts;
  const isRetried = result?.state === "waiting";
  if (failure !== undefined) {
    const next = isRetried
      ? `attempt ${attempts} of ${MAX_ATTEMPTS}`
      : result
        ? "it is given up"
        : "its user was erased meanwhile";
    const subject = `videoWatch: ${name}, ${next} (end ${id}, task ${taskId}, request ${requestId ?? "unknown"})`;
    setup.report(subject, error ?? failure, env);
  }
  // a handler that passes its work on reports no success: its end comes later
  if (!kind || (failure === undefined && upstreamStatus === undefined)) return;
  const facts = { kind, id, user, taskId, model, requestId, attempts, upstreamStatus };
  const durationMs = Date.now() - endedAt;
  if (failure === undefined) report({ ...facts, outcome: "complete", durationMs }, env);
  else if (!result) report({ ...facts, outcome: "dropped", code: "user_erased", durationMs }, env);
  else if (isRetried) report({ ...facts, outcome: "waiting", nextAt: result.at }, env);
  else report({ ...facts, outcome: isRefusal ? "refused" : "failed", durationMs }, env);
}

/** Lists a delivery that was given up among the dead letters of all users. */
export async function listDeadLetter<Env>(
  { server }: WatchParts<Env>,
  { host, key, env }: JobContext,
  { id }: RowId,
): Promise<void> {
  const row = await host.run(key, findDelivery, { id });
  if (row?.state !== "dead") return;
  const { userId, gatewayId: taskId, model, requestId } = JSON.parse(row.ended) as EndedTask;
  const { handler, attempts, status, cause, at: failedAt } = row;
  const letter = {
    ...{ id, handler, userId, taskId, attempts, cause: cause ?? "", failedAt },
    ...(model !== undefined && { model }),
    ...(requestId !== undefined && { requestId }),
    ...(status !== null && { upstreamStatus: status }),
  };
  const dropped = await host.run(DEAD_LETTERS_KEY, addDeadLetter, { letter, userKey: key });
  // the user may have been erased meanwhile
  if (!(await host.run(key, findDelivery, { id })))
    await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt });
  for (const one of dropped) {
    const kind = one.handler.startsWith("webhook") ? "webhook" : "watch";
    const { id, userId: user, taskId, model, requestId, attempts } = one;
    const facts = { id, user, taskId, model, requestId, attempts };
    server().report({ kind, ...facts, outcome: "dropped", code: "dead_letters_full" }, env as Env);
  }
}
