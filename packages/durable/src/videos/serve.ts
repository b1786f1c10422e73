import type { AdmittedRequest, Source } from "@sluice/worker-proxy";
import { limitTime, Refusal } from "@sluice/worker-proxy/plugin";
import { checkSignal } from "../host/check-signal.js";
import { createUserKey } from "../host/user-key.js";
import { renameTask } from "./end-handler.js";
import { type Follow, openBody } from "./follow.js";
import { pollTask, type WatchParts } from "./jobs.js";
import { queryTask } from "./query-task.js";
import { createWatchRefusal, type WatchRefusal } from "./refusals.js";
import { rejectOnAbort } from "./reject-on-abort.js";
import { type CreatedTask, canResume, type WatchedTask } from "./task.js";
import { type FailedResponse, readTask } from "./task-response.js";
import {
  findWatch,
  MAX_OPEN_WATCHES,
  markRemoved,
  openWatch,
  READER_NOTE_MS,
  startWatch,
} from "./watches.js";

/** Longest time for which the response to a create waits for the start of its watch, in milliseconds. */
const START_MS = 5_000;

/** Creates the functions that serve requests about tasks. */
export function createServe<Env>(parts: WatchParts<Env>, follow: Source<Follow>) {
  const { server, rules } = parts;
  return { serveEvents, removeTask, send, answered };

  async function serveEvents(admitted: AdmittedRequest<Env>): Promise<Response> {
    checkSignal();
    const { env, user, id = "", sentId = id, request, isPublic = false } = admitted;
    const host = server().host(env);
    const key = await createUserKey(user.id);
    const asked = { id, userId: user.id, rules, firstPollInMs: 0, maxOpen: getMaxOpen(admitted) };
    const opened = await host.run(key, openWatch, asked);
    if ("refused" in opened) throw refuseTask(opened.refused, admitted);
    const lastEventId = request.headers.get("last-event-id");
    const stream = await host.open(key, follow, { id, sentId, lastEventId, isPublic });
    return new Response(await openBody(stream, request.signal), {
      headers: { "content-type": "text/event-stream" },
    });
  }

  async function removeTask({ env, user, id = "" }: AdmittedRequest<Env>): Promise<Response> {
    await server()
      .host(env)
      .run(await createUserKey(user.id), markRemoved, { id });
    return new Response(null, { status: 204 });
  }

  /** Serves a poll of a task from its row. */
  function send(admitted: AdmittedRequest<Env>): Promise<Response> | undefined {
    return admitted.route === "videos" && admitted.id !== undefined ? servePoll(admitted) : undefined;
  }

  async function servePoll(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { env, user, id = "", sentId = id } = admitted;
    const host = server().host(env);
    const key = await createUserKey(user.id);
    let task = await host.run(key, findWatch, { id });
    if (!task || needsReader(task)) {
      const asked = {
        ...{ id, userId: user.id, rules, maxOpen: getMaxOpen(admitted) },
        firstPollInMs: rules.intervalMs,
      };
      const opened = await host.run(key, openWatch, asked);
      if ("refused" in opened) return await serveUnwatched(admitted);
      task = opened.task;
      // nothing is known, or an end without a final state is some time ago
      if (opened.isDue) {
        await pollTask(parts, { host, key, env }, id);
        task = await host.run(key, findWatch, { id });
      }
    }
    if (!task) throw new Refusal("upstream_unreachable");
    const { envelope, failure, end } = task;
    if (end?.error !== undefined) throw createStoredRefusal(end as FailedResponse);
    if (envelope === undefined)
      throw failure ? createStoredRefusal(failure) : new Refusal("upstream_unreachable");
    return createTaskResponse(envelope, id, sentId);
  }

  /** Serves a poll from the gateway: a task beyond the bound is not watched, and its user sees it all the same. */
  async function serveUnwatched({ env, id = "", sentId = id }: AdmittedRequest<Env>): Promise<Response> {
    const result = await queryTask(server(), id, env);
    if (result.type !== "task") throw createStoredRefusal(result);
    return createTaskResponse(result.envelope, id, sentId);
  }

  /** Starts the watch of a new task. A paid response must arrive, so a failure is only reported. */
  async function answered(admitted: AdmittedRequest<Env>, receipt: unknown): Promise<void> {
    const { route, body, user, id = "", sentId = id, model, headers, env } = admitted;
    if (route !== "videos" || !body) return;
    const requestId = headers?.["x-request-id"];
    const created: CreatedTask = { sentId, model, requestId };
    const start = async () =>
      server()
        .host(env)
        .run(await createUserKey(user.id), startWatch, {
          ...{ id, userId: user.id, rules, created, random: Math.random() },
          maxOpen: getMaxOpen(admitted),
          envelope: readTask(receipt)?.envelope ?? null,
        });
    const drop = (code: string, error: unknown) => {
      const { setup, report } = server();
      const facts = { taskId: id, user: user.id, model, requestId };
      setup.report(`videoWatch: the watch of task ${id} (request ${requestId}) did not start`, error, env);
      report({ kind: "watch", id, outcome: "dropped", code, ...facts }, env, admitted.context);
    };
    try {
      // a second attempt, because connections are cut
      const { refused } = await limitTime(START_MS, (signal) =>
        Promise.race([start().catch(start), rejectOnAbort(signal)]),
      );
      if (refused) drop(refused, refuseTask(refused, admitted));
    } catch (error) {
      drop("object_unavailable", error);
    }
  }
}

/** Returns the largest number of a user's watches. Many people are one user of a public proxy. */
function getMaxOpen({ isPublic }: Pick<AdmittedRequest, "isPublic">): number {
  return isPublic ? MAX_OPEN_WATCHES.public : MAX_OPEN_WATCHES.user;
}

function refuseTask(reason: WatchRefusal, admitted: Pick<AdmittedRequest, "isPublic">): Refusal {
  return createWatchRefusal(reason, { what: getMaxOpen(admitted), headers: { "retry-after": "60" } });
}

/** Returns true for a watch whose row has to change for a page that polls. */
function needsReader(task: WatchedTask): boolean {
  if (task.end) return canResume(task, Date.now());
  return task.envelope === undefined || Date.now() - task.lastReaderAt >= READER_NOTE_MS;
}

/** Returns the refusal of a poll that failed, as the gateway or the proxy worded it. */
function createStoredRefusal({ status, error }: FailedResponse): Refusal {
  const { error: said } = JSON.parse(error) as { error: Record<string, string> };
  return new Refusal("said", { said: { ...said, status } });
}

function createTaskResponse(envelope: string, id: string, sentId: string): Response {
  const headers = { "content-type": "application/json" };
  return new Response(renameTask(envelope, id, sentId), { headers });
}
