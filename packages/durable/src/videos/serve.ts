import {
  type AdmittedRequest,
  type BoundHost,
  hashText,
  type JobContext,
  type PluginServer,
  Refusal,
  type Source,
} from "@sluice/worker-proxy/plugin";
import { checkSignal } from "../host/check-signal.js";
import { createUserKey } from "../host/user-key.js";
import { openResponse } from "../jobs/response-stream.js";
import { findResultHandlers } from "../shared/result-handlers.js";
import { abandonAfter } from "../shared/time.js";
import { renameTask } from "./ends.js";
import type { EventsRequest } from "./events.js";
import { queryTask, UNREADABLE } from "./query-task.js";
import { createWatchEvent, getOutcome } from "./report.js";
import { isStale, type WatchedTask, type WatchRules } from "./task.js";
import { createWatchRefusal, type FailedResponse, type PollResult, parseTask } from "./task-response.js";
import {
  applyPoll,
  checkTask,
  findWatch,
  MAX_OPEN_WATCHES,
  markRemoved,
  type RowId,
  startWatch,
} from "./watches.js";

/** Maximum time that the response to a create waits for the start of its watch, in milliseconds. */
const START_MS = 5_000;

/** Dependencies of the jobs and requests of watches. */
interface WatchDependencies<Env> {
  readonly getServer: () => PluginServer<Env>;
  readonly rules: WatchRules;
  /** The names of the handlers. */
  readonly handlers: readonly string[];
  readonly events: Source<EventsRequest>;
}

/** The input of a poll. */
interface PollInput<Env> {
  readonly id: string;
  readonly userId: string;
  readonly env: Env;
  /** The watch before the poll; null if the task is not watched. */
  readonly task: WatchedTask | null;
  /** Maximum number of open watches of the user. */
  readonly maxOpen: number;
  /** A result that needs no request to the gateway. */
  readonly result?: PollResult;
}

/** A watch after a poll, and the result of the poll. `task` is null if the task is not watched. */
interface PolledTask {
  readonly task: WatchedTask | null;
  readonly result?: PollResult;
}

/** Creates the functions that poll tasks and serve requests for them. */
export function createWatchHandlers<Env>({ getServer, rules, handlers, events }: WatchDependencies<Env>) {
  return { pollTask, serveEvents, removeTask, send, responded };

  /** Polls a task that is due. Deletes an ended task after its retention. */
  async function pollTask({ host, key, env, attempt }: JobContext, { id }: RowId): Promise<void> {
    const task = await host.run(key, findWatch, { id });
    if (task?.end) await host.run(key, checkTask, { id });
    else if (task) {
      const input = { id, userId: task.userId, env: env as Env, task, maxOpen: 0 };
      // if the process ended during a poll, the gateway may have received it, so the poll counts as failed
      await poll(host, key, { ...input, ...(attempt > 1 && { result: UNREADABLE }) });
    }
  }

  /** Queries the gateway for a task once, and stores the result. */
  async function poll(
    host: BoundHost,
    key: string,
    { id, userId, env, task, maxOpen, result: knownResult }: PollInput<Env>,
  ): Promise<PolledTask> {
    const proxy = getServer();
    const [result, hash] = await Promise.all([
      knownResult ?? queryTask(proxy, id, env),
      hashText(`end\n${userId}\n${id}`),
    ]);
    // store the results first: if the process ends before `applyPoll`, the task is polled again
    if (result.type === "task" && result.hasEnded)
      for (const handleResult of findResultHandlers<Env>(proxy.plugins))
        await handleResult({ host, env, userId, id, response: JSON.parse(result.envelope) });
    const applied = await host.run(key, applyPoll, {
      ...{ id, userId, rules, result, hash, handlers, maxOpen },
      ...{ run: crypto.randomUUID(), polls: task?.polls ?? -1, random: Math.random() },
    });
    const { task: next, isNewEnd } = applied;
    if (isNewEnd && next?.end) proxy.report(createWatchEvent(next, ...getOutcome(next, next.end)), env);
    return { task: next, result };
  }

  /** Returns the task of a request. Polls the gateway first if the task is not watched or is stale. */
  async function findOrPollTask(admitted: AdmittedRequest<Env>, key: string): Promise<PolledTask> {
    const { env, user, id = "" } = admitted;
    const host = getServer().host(env);
    const task = await host.run(key, findWatch, { id });
    if (task && !isStale(task, Date.now())) return { task };
    return await poll(host, key, { id, userId: user.id, env, task, maxOpen: getMaxOpen(admitted) });
  }

  async function serveEvents(admitted: AdmittedRequest<Env>): Promise<Response> {
    checkSignal();
    const { env, user, id = "", signedId = id, request, isPublic = false } = admitted;
    const key = await createUserKey(user.id);
    const { task, result } = await findOrPollTask(admitted, key);
    if (!task)
      throw result && result.type !== "task" ? createStoredRefusal(result) : refuseTooManyTasks(admitted);
    const lastEventId = request.headers.get("last-event-id");
    const stream = await getServer().host(env).open(key, events, { id, signedId, lastEventId, isPublic });
    const opened = await openResponse(stream, request.signal);
    return new Response(opened?.body, { headers: { "content-type": "text/event-stream" } });
  }

  async function removeTask({ env, user, id = "" }: AdmittedRequest<Env>): Promise<Response> {
    await getServer()
      .host(env)
      .run(await createUserKey(user.id), markRemoved, { id });
    return new Response(null, { status: 204 });
  }

  /** Serves a client's query of a task from its row. */
  function send(admitted: AdmittedRequest<Env>): Promise<Response> | undefined {
    return admitted.route === "videos" && admitted.id !== undefined ? servePoll(admitted) : undefined;
  }

  async function servePoll(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { user, id = "", signedId = id } = admitted;
    const { task, result } = await findOrPollTask(admitted, await createUserKey(user.id));
    if (task?.end?.refusal) throw createStoredRefusal(task.end.refusal);
    // a task over the limit is not watched, but the client still gets the response
    const envelope = task?.envelope ?? (result?.type === "task" ? result.envelope : undefined);
    if (envelope === undefined)
      throw result && result.type !== "task"
        ? createStoredRefusal(result)
        : new Refusal("upstream_unreachable");
    const headers = { "content-type": "application/json" };
    return new Response(renameTask(envelope, id, signedId), { headers });
  }

  /** Starts the watch of a new task. Only reports a failure, because the client must receive the paid response. */
  async function responded(admitted: AdmittedRequest<Env>, receipt: unknown): Promise<void> {
    const { route, body, user, id = "", signedId = id, model, headers, env } = admitted;
    if (route !== "videos" || !body) return;
    const requestId = headers?.["x-request-id"];
    const input = {
      ...{ id, userId: user.id, rules, created: { signedId, model, requestId }, random: Math.random() },
      ...{ maxOpen: getMaxOpen(admitted), envelope: parseTask(receipt)?.envelope ?? null },
    };
    const start = async () =>
      getServer()
        .host(env)
        .run(await createUserKey(user.id), startWatch, input);
    const reportDrop = (code: string, error: unknown) => {
      const { log, report } = getServer();
      const details = { taskId: id, userId: user.id, model, requestId };
      void log(`videoWatch: the watch of task ${id} (request ${requestId}) did not start`, error, { env });
      report({ type: "job", job: "watch", id, outcome: "dropped", code, ...details }, env, admitted.context);
    };
    try {
      // retry once, because a connection may break
      const isStarted = await abandonAfter(START_MS, () => start().catch(start));
      if (!isStarted) reportDrop("too_many_tasks", refuseTooManyTasks(admitted));
    } catch (error) {
      reportDrop("object_unavailable", error);
    }
  }
}

/** Returns the maximum number of open watches. All visitors of a public proxy share one user. */
function getMaxOpen({ isPublic }: Pick<AdmittedRequest, "isPublic">): number {
  return isPublic ? MAX_OPEN_WATCHES.public : MAX_OPEN_WATCHES.user;
}

function refuseTooManyTasks(admitted: Pick<AdmittedRequest, "isPublic">): Refusal {
  return createWatchRefusal("too_many_tasks", {
    what: getMaxOpen(admitted),
    headers: { "retry-after": "60" },
  });
}

/** Recreates the refusal of a failed poll with its original message. */
function createStoredRefusal({ status, error }: FailedResponse): Refusal {
  const parsed = JSON.parse(error) as { error: Record<string, string> };
  return new Refusal("custom", { error: { ...parsed.error, status } });
}
