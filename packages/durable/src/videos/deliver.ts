import type { JobEvent } from "@sluice/worker-proxy";
import type { JobContext, PluginServer } from "@sluice/worker-proxy/plugin";
import { abandonAfter } from "../shared/time.js";
import { addDeadLetter, DEAD_LETTERS_KEY, removeDeadLetter } from "./dead-letters.js";
import {
  type AttemptResult,
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
const LOST_ATTEMPT: HandlerResult = {
  failure: "the process ended during the attempt, or could not store its end",
};

/** The result of an attempt, with the error of the handler for the log. */
interface HandlerResult extends AttemptResult {
  readonly error?: unknown;
}

/** Handlers by name. The rows store the names. */
export type Handlers<Env> = ReadonlyMap<string, EndHandler<Env>>;

/**
 * Names each handler after its job or its function, and numbers repeated names: `send`, `send-2`. The handlers of this
 * package have a job, because a bundler may rename their functions and the rows store the names.
 */
export function nameHandlers<Env>(handlers: readonly EndHandler<Env>[]): Handlers<Env> {
  const named = new Map<string, EndHandler<Env>>();
  for (const handler of handlers) {
    const ownName = handler.job ?? handler.name;
    const baseName = /^[\w$]{1,60}$/.test(ownName) ? ownName : "handler";
    let name = baseName;
    for (let number = 2; named.has(name); number += 1) name = `${baseName}-${number}`;
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

async function attemptDelivery<Env>(
  server: PluginServer<Env>,
  handlers: Handlers<Env>,
  context: JobContext,
  delivery: Delivery,
): Promise<DeliveryEnd> {
  const { host, key, env, attempt } = context;
  const { id, handler, attempts } = delivery;
  const { error, ...result } = attempt > 1 ? LOST_ATTEMPT : await runHandler(handlers, delivery, context);
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
): Promise<HandlerResult> {
  try {
    const handler = handlers.get(name);
    if (!handler) throw new DeliveryError("videoWatch has no handler of this name any more");
    const call = async (signal: AbortSignal) =>
      handler(ended, { env: env as Env, attempt: attempts + 1, signal });
    const received = await abandonAfter(HANDLER_MS, call, closing);
    return { upstreamStatus: received?.upstreamStatus };
  } catch (error) {
    if (error instanceof DeliveryError)
      return { failure: error.message, upstreamStatus: error.upstreamStatus, error };
    const failure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return { failure, error };
  }
}

function describeFailure({ handler, ended: { id, gatewayId, requestId } }: Delivery, end: DeliveryEnd) {
  let progress = "its user was erased meanwhile";
  if (end)
    progress = end.nextAt === undefined ? "it is given up" : `attempt ${end.attempts} of ${MAX_ATTEMPTS}`;
  return `videoWatch: ${handler}, ${progress} (end ${id}, task ${gatewayId}, request ${requestId ?? "unknown"})`;
}

/** Reports the event of an attempt. `end` is null if the user was erased meanwhile. */
function reportAttempt<Env>(
  { report }: PluginServer<Env>,
  env: Env,
  job: JobEvent["job"],
  { ended }: Delivery,
  end: DeliveryEnd,
  { failure, upstreamStatus }: AttemptResult,
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

/** Adds a dead letter for a delivery, unless its user was erased. Reports the dead letters that it replaces. */
async function storeDeadLetter<Env>(
  { report }: PluginServer<Env>,
  { host, key, env }: JobContext,
  { id, handler, ended }: Delivery,
  { attempts, failure }: { readonly attempts: number; readonly failure: LastFailure },
): Promise<void> {
  const { userId, gatewayId: taskId, model, requestId } = ended;
  const { cause, upstreamStatus, at: failedAt } = failure;
  // JSON leaves out undefined, which a dead letter may not contain
  const optional = JSON.parse(JSON.stringify({ model, requestId, upstreamStatus })) as object;
  const deadLetter = { id, handler, userId, taskId, attempts, cause, failedAt, ...optional };
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
