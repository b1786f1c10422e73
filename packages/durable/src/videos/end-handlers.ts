import type { Job, JobContext, JobEvent } from "@sluice/worker-proxy";
import { ensure, type PluginServer } from "@sluice/worker-proxy/plugin";
import {
  addDeadLetter,
  DEAD_LETTERS_KEY,
  deadLetterStorage,
  eraseDeadLetters,
  removeDeadLetter,
} from "./dead-letter-rows.js";
import { createDeadLetterOperations } from "./dead-letters.js";
import {
  type Attempted,
  beginDelivery,
  DELIVERY_OPERATIONS,
  DELIVERY_ROWS,
  DELIVERY_TABLES,
  type DeliveryResult,
  declareDeliveryJobs,
  endDelivery,
  findDelivery,
  LOST_ATTEMPT,
  MAX_ATTEMPTS,
} from "./deliveries.js";
import { DeliveryError, type EndedTask, type EndHandler, type EndWork } from "./end-handler.js";
import { rejectOnAbort } from "./reject-on-abort.js";
import type { RowId } from "./timers.js";

/** Longest time of one attempt of a handler, in milliseconds. */
const HANDLER_MS = 10 * 60_000;

/** Work after the end of a task: the value of {@link endHandlers}. */
export interface EndHandlers<Env = unknown> {
  readonly handlers: readonly EndHandler<Env>[];
  /** Creates the work of one watch. */
  createWork(): EndWork<Env>;
}

/**
 * Creates the `onEnd` of `videoWatch`: work after the end of a task that was watched from its create. What fails is tried
 * again, and becomes a dead letter in the end.
 *
 * @param handlers `webhook(…)`, or functions of the app
 * @throws {TypeError} for a handler that is no function
 * @example
 * ```ts
 * const hook = webhook<Env>({ url: "https://app.example.com/hooks/video", secret: (env) => env.WEBHOOK_SECRET });
 * const plugin = videoWatch<Env>({ onEnd: endHandlers(hook) });
 * ```
 */
export function endHandlers<Env = unknown>(...handlers: readonly EndHandler<Env>[]): EndHandlers<Env> {
  const areHandlers = handlers.length > 0 && handlers.every((handler) => typeof handler === "function");
  ensure(areHandlers, "endHandlers: give functions, webhook(…)");
  return { handlers, createWork: () => createEndWork("videos", nameHandlers(handlers)) };
}

/** Names each handler by its function, and the second one of a name with a number. */
function nameHandlers<Env>(handlers: readonly EndHandler<Env>[]): ReadonlyMap<string, EndHandler<Env>> {
  const named = new Map<string, EndHandler<Env>>();
  for (const handler of handlers) {
    const usual = /^[\w$]{1,60}$/.test(handler.name) ? handler.name : "handler";
    let name = usual;
    for (let number = 2; named.has(name); number += 1) name = `${usual}-${number}`;
    named.set(name, handler);
  }
  return named;
}

interface WorkParts<Env> {
  readonly server: () => PluginServer<Env>;
  readonly handlers: ReadonlyMap<string, EndHandler<Env>>;
}

/**
 * Creates the work of handlers.
 *
 * @param handlers by the names under which their rows are stored
 */
export function createEndWork<Env>(
  plugin: "videos" | "files",
  handlers: ReadonlyMap<string, EndHandler<Env>>,
): EndWork<Env> {
  let connected: PluginServer<Env> | undefined;
  const server = () => {
    ensure(connected, "onEnd: belongs to no proxy");
    return connected;
  };
  const parts: WorkParts<Env> = { server, handlers };
  const { deliver, list } = declareDeliveryJobs(plugin);
  const jobs: readonly Job<RowId>[] = [
    { ...deliver, run: (context, input) => deliverEnd(parts, context, input) },
    { ...list, run: (context, input) => listDeadLetter(parts, context, input) },
  ];
  return {
    names: [...handlers.keys()],
    rows: DELIVERY_ROWS,
    checks: [...handlers.values()].flatMap(({ checks = [] }) => checks),
    storage: {
      tables: [...DELIVERY_TABLES, ...deadLetterStorage.tables],
      operations: [...DELIVERY_OPERATIONS, ...deadLetterStorage.operations],
      jobs: [...jobs, ...(deadLetterStorage.jobs ?? [])],
    },
    operations: createDeadLetterOperations((env) => server().host(env)),
    connect(given) {
      connected = given;
    },
    async eraseUser(host, key) {
      while (!(await host.run(DEAD_LETTERS_KEY, eraseDeadLetters, { userKey: key })));
    },
  };
}

/** Runs one attempt of a handler. */
async function deliverEnd<Env>(parts: WorkParts<Env>, context: JobContext, { id }: RowId) {
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
  { server }: WorkParts<Env>,
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
async function listDeadLetter<Env>(
  { server }: WorkParts<Env>,
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
