import { type JobContext, limitTime, type PluginServer } from "@sluice/worker-proxy/plugin";
import { rejectOnAbort } from "../shared/reject-on-abort.js";
import { addDeadLetter, DEAD_LETTERS_KEY, removeDeadLetter } from "./dead-letters.js";
import {
  type Attempted,
  type Delivery,
  type DeliveryEnd,
  endDelivery,
  findDelivery,
  MAX_ATTEMPTS,
} from "./deliveries.js";
import { DeliveryError, type EndHandler } from "./ends.js";
import type { RowId } from "./watches.js";

/** Timeout of one attempt of a handler, in milliseconds. */
const HANDLER_MS = 10 * 60_000;
/** Result of an attempt whose process ended. The host starts the job again with a higher `attempt`. */
const LOST: Attempted = { failure: "the process ended during the attempt, or could not store its end" };

/** Handlers by name. The rows store the names. */
export type Handlers<Env> = ReadonlyMap<string, EndHandler<Env>>;

/** Names each handler after its function. Numbers repeated names: `send`, `send-2`. */
export function nameHandlers<Env>(handlers: readonly EndHandler<Env>[]): Handlers<Env> {
  const named = new Map<string, EndHandler<Env>>();
  for (const handler of handlers) {
    const usual = /^[\w$]{1,60}$/.test(handler.name) ? handler.name : "handler";
    let name = usual;
    for (let number = 2; named.has(name); number += 1) name = `${usual}-${number}`;
    named.set(name, handler);
  }
  return named;
}

/** Runs one attempt of a handler. Adds a dead letter if the last attempt fails. */
export async function deliverEnd<Env>(
  server: PluginServer<Env>,
  handlers: Handlers<Env>,
  context: JobContext,
  { id }: RowId,
): Promise<void> {
  const { host, key, env, attempt } = context;
  const delivery = await host.run(key, findDelivery, { id });
  if (!delivery) return;
  let end: DeliveryEnd = delivery;
  if (!delivery.failure) {
    const { attempts } = delivery;
    const { attempted, error } =
      attempt > 1 ? { attempted: LOST } : await runHandler(handlers, delivery, context);
    end = await host.run(key, endDelivery, { id, attempts, attempted });
    const job = handlers.get(delivery.handler)?.job;
    reportAttempt(server, env as Env, { delivery, job, end, attempted, error });
  }
  if (!end?.failure) return;
  const { ended, handler } = delivery;
  const { userId, gatewayId: taskId, model, requestId } = ended;
  const { cause, upstreamStatus, at: failedAt } = end.failure;
  const known = JSON.parse(JSON.stringify({ model, requestId, upstreamStatus })) as object;
  const letter = { id, handler, userId, taskId, attempts: end.attempts, cause, failedAt, ...known };
  const dropped = await host.run(DEAD_LETTERS_KEY, addDeadLetter, { letter, userKey: key });
  // the user may have been erased in the meantime
  if (!(await host.run(key, findDelivery, { id })))
    await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt });
  for (const { id, handler, userId, taskId, model, requestId, attempts } of dropped) {
    const facts = { id, userId, taskId, model, requestId, attempts };
    const job = handler.startsWith("webhook") ? "webhook" : "watch";
    server.report({ type: "job", job, ...facts, outcome: "dropped", code: "dead_letters_full" }, env as Env);
  }
}

interface AttemptResult {
  readonly attempted: Attempted;
  readonly error?: unknown;
}

/** Calls the handler with a timeout of ten minutes. Returns an error of the handler as the result. */
async function runHandler<Env>(
  handlers: Handlers<Env>,
  { handler: name, ended, attempts }: Delivery,
  { env, signal: closing }: JobContext,
): Promise<AttemptResult> {
  try {
    const handler = handlers.get(name);
    if (!handler) throw new DeliveryError("videoWatch has no handler of this name any more");
    const received = await limitTime(HANDLER_MS, (late) => {
      const signal = AbortSignal.any([late, closing]);
      const context = { env: env as Env, attempt: attempts + 1, signal };
      return Promise.race([handler(ended, context), rejectOnAbort(signal)]);
    });
    return { attempted: { upstreamStatus: received?.upstreamStatus } };
  } catch (error) {
    if (error instanceof DeliveryError)
      return { attempted: { failure: error.message, upstreamStatus: error.upstreamStatus }, error };
    const failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { attempted: { failure }, error };
  }
}

interface ReportedAttempt extends AttemptResult {
  readonly delivery: Delivery;
  readonly job: EndHandler["job"];
  readonly end: DeliveryEnd;
}

/** Logs a failed attempt with its cause, and reports the event of a handler that has a job. */
function reportAttempt<Env>(
  { setup, report }: PluginServer<Env>,
  env: Env,
  { delivery: { handler, ended }, job, end, attempted, error }: ReportedAttempt,
): void {
  const { id, userId, gatewayId: taskId, model, requestId, endedAt } = ended;
  const { failure, upstreamStatus } = attempted;
  const { attempts, nextAt } = end ?? {};
  if (failure !== undefined) {
    const isRetried = nextAt !== undefined && `attempt ${attempts} of ${MAX_ATTEMPTS}`;
    const next = end ? isRetried || "it is given up" : "its user was erased meanwhile";
    const subject = `videoWatch: ${handler}, ${next} (end ${id}, task ${taskId}, request ${requestId ?? "unknown"})`;
    setup.report(subject, error ?? failure, env);
  }
  if (!job) return;
  const facts = { type: "job", job, id, userId, taskId, model, requestId, attempts, upstreamStatus } as const;
  const durationMs = Date.now() - endedAt;
  if (failure === undefined) report({ ...facts, outcome: "complete", durationMs }, env);
  else if (!end) report({ ...facts, outcome: "dropped", code: "user_erased", durationMs }, env);
  else if (nextAt !== undefined) report({ ...facts, outcome: "retrying", nextAt }, env);
  else report({ ...facts, outcome: upstreamStatus === 410 ? "refused" : "error", durationMs }, env);
}
