import type { JobEvent } from "@sluice/worker-proxy";
import type { JobContext, PluginServer } from "@sluice/worker-proxy/plugin";
import { rejectOnAbort } from "../shared/reject-on-abort.js";
import { limitTime } from "../shared/time.js";
import { addDeadLetter, DEAD_LETTERS_KEY, removeDeadLetter } from "./dead-letters.js";
import {
  type Attempted,
  type Delivery,
  type DeliveryEnd,
  endDelivery,
  findDelivery,
  type LastFailure,
  MAX_ATTEMPTS,
} from "./deliveries.js";
import { DeliveryError, type EndHandler } from "./ends.js";
import type { RowId } from "./watches.js";

/** Timeout of one attempt of a handler, in milliseconds. */
const HANDLER_MS = 10 * 60_000;
/** The result of an attempt whose process ended. The host starts the job again with a higher `attempt`. */
const LOST: Attempt = { failure: "the process ended during the attempt, or could not store its end" };

/** The result of an attempt, with the error of the handler for the log. */
interface Attempt extends Attempted {
  readonly error?: unknown;
}

/** Handlers by name. The rows store the names. */
export type Handlers<Env> = ReadonlyMap<string, EndHandler<Env>>;

/**
 * Names each handler after its job or its function. A bundler may rename the functions of this package, and rows keep the
 * names, so these have a job. Numbers repeated names: `send`, `send-2`.
 */
export function nameHandlers<Env>(handlers: readonly EndHandler<Env>[]): Handlers<Env> {
  const named = new Map<string, EndHandler<Env>>();
  for (const handler of handlers) {
    const given = handler.job ?? handler.name;
    const usual = /^[\w$]{1,60}$/.test(given) ? given : "handler";
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
  const delivery = await context.host.run(context.key, findDelivery, { id });
  if (!delivery) return;
  // after the last attempt, only the dead letter may be missing
  const end = delivery.failure ? delivery : await attemptDelivery(server, handlers, context, delivery);
  if (end?.failure) await storeDeadLetter(server, context, delivery, { ...end, failure: end.failure });
}

/** Runs a handler, stores the result and reports it. */
async function attemptDelivery<Env>(
  server: PluginServer<Env>,
  handlers: Handlers<Env>,
  context: JobContext,
  delivery: Delivery,
): Promise<DeliveryEnd> {
  const { host, key, env, attempt } = context;
  const { id, handler, attempts } = delivery;
  const { error, ...result } = attempt > 1 ? LOST : await runHandler(handlers, delivery, context);
  const end = await host.run(key, endDelivery, { id, attempts, ...result });
  if (result.failure !== undefined)
    await server.log(describeFailure(delivery, end), error ?? result.failure, { env: env as Env });
  const job = handlers.get(handler)?.job;
  if (job) reportAttempt(server, env as Env, job, delivery, end, result);
  return end;
}

/** Calls the handler with a timeout of ten minutes. Returns an error of the handler as the result. */
async function runHandler<Env>(
  handlers: Handlers<Env>,
  { handler: name, ended, attempts }: Delivery,
  { env, signal: closing }: JobContext,
): Promise<Attempt> {
  try {
    const handler = handlers.get(name);
    if (!handler) throw new DeliveryError("videoWatch has no handler of this name any more");
    const received = await limitTime(HANDLER_MS, (late) => {
      const signal = AbortSignal.any([late, closing]);
      const context = { env: env as Env, attempt: attempts + 1, signal };
      return Promise.race([handler(ended, context), rejectOnAbort(signal)]);
    });
    return { upstreamStatus: received?.upstreamStatus };
  } catch (error) {
    if (error instanceof DeliveryError)
      return { failure: error.message, upstreamStatus: error.upstreamStatus, error };
    const failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { failure, error };
  }
}

/** Describes a failed attempt for the log. */
function describeFailure({ handler, ended: { id, gatewayId, requestId } }: Delivery, end: DeliveryEnd) {
  const isRetried = end?.nextAt !== undefined && `attempt ${end.attempts} of ${MAX_ATTEMPTS}`;
  const next = end ? isRetried || "it is given up" : "its user was erased meanwhile";
  return `videoWatch: ${handler}, ${next} (end ${id}, task ${gatewayId}, request ${requestId ?? "unknown"})`;
}

/** Reports the event of an attempt. `end` is null if the user was erased meanwhile. */
function reportAttempt<Env>(
  { report }: PluginServer<Env>,
  env: Env,
  job: JobEvent["job"],
  { ended }: Delivery,
  end: DeliveryEnd,
  { failure, upstreamStatus }: Attempted,
): void {
  const { id, userId, gatewayId: taskId, model, requestId, endedAt } = ended;
  const { attempts, nextAt } = end ?? {};
  const event = { type: "job", job, id, userId, taskId, model, requestId, attempts, upstreamStatus } as const;
  const durationMs = Date.now() - endedAt;
  if (failure === undefined) report({ ...event, outcome: "complete", durationMs }, env);
  else if (!end) report({ ...event, outcome: "dropped", code: "user_erased", durationMs }, env);
  else if (nextAt !== undefined) report({ ...event, outcome: "retrying", nextAt }, env);
  else report({ ...event, outcome: upstreamStatus === 410 ? "refused" : "error", durationMs }, env);
}

/** Lists a delivery that is given up, unless its user was erased. Reports the dead letters that it replaces. */
async function storeDeadLetter<Env>(
  { report }: PluginServer<Env>,
  { host, key, env }: JobContext,
  { id, handler, ended }: Delivery,
  { attempts, failure }: { readonly attempts: number; readonly failure: LastFailure },
): Promise<void> {
  const { userId, gatewayId: taskId, model, requestId } = ended;
  const { cause, upstreamStatus, at: failedAt } = failure;
  const known = JSON.parse(JSON.stringify({ model, requestId, upstreamStatus })) as object;
  const deadLetter = { id, handler, userId, taskId, attempts, cause, failedAt, ...known };
  const dropped = await host.run(DEAD_LETTERS_KEY, addDeadLetter, { deadLetter, userKey: key });
  // the user may have been erased in the meantime
  if (!(await host.run(key, findDelivery, { id })))
    await host.run(DEAD_LETTERS_KEY, removeDeadLetter, { id, failedAt });
  for (const { id, handler, userId, taskId, model, requestId, attempts } of dropped) {
    const job = handler.startsWith("webhook") ? "webhook" : "watch";
    const details = { id, userId, taskId, model, requestId, attempts };
    report({ type: "job", job, ...details, outcome: "dropped", code: "dead_letters_full" }, env as Env);
  }
}
