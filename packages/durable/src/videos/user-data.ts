import type { AdminOperation, UserData } from "@sluice/worker-proxy";
import { readCursor, readText } from "../admin/body.js";
import { ExportPage } from "../admin/export-page.js";
import { createUserKey } from "../host/user-key.js";
import { pollTask, type WatchParts } from "./jobs.js";
import { createWatchEvent } from "./report.js";
import { getEndState, type WatchedTask } from "./task.js";
import { findWatch, listWatches, PAGE } from "./watches.js";

/** Exports and erases the watches of a user, and the dead letters of their ends. */
export function createUserData<Env>(parts: WatchParts<Env>): UserData<Env> {
  return {
    name: "watches",
    async eraseUser(env, userId) {
      const server = parts.server();
      const host = server.host(env);
      const key = await createUserKey(userId);
      for (let isDone = false; !isDone; ) {
        const erased = await host.run(key, parts.operations.eraseWatches, null);
        for (const task of erased.stopped)
          server.report(createWatchEvent(task, "stopped", "user_erased"), env);
        ({ isDone } = erased);
      }
      // last: a watch that is gone adds none
      for (const work of [parts.work, ...parts.offered()]) await work?.eraseUser(host, key);
    },
    async exportUser(env, userId, cursor) {
      const host = parts.server().host(env);
      const key = await createUserKey(userId);
      const page = new ExportPage();
      page.cursor = cursor;
      for (;;) {
        const tasks = await host.run(key, listWatches, { after: page.cursor ?? "" });
        for (const task of tasks) {
          if (!page.add(exportTask(task))) return page;
          page.cursor = task.id;
        }
        if (tasks.length === PAGE) continue;
        page.cursor = undefined;
        return page;
      }
    },
  };
}

/** The operations of an operator on the watches of a user: `watches/list` and `watches/poll`. */
export function createWatchOperations<Env>(parts: WatchParts<Env>): readonly AdminOperation<Env>[] {
  const open = (env: Env) => parts.server().host(env);
  return [
    {
      name: "watches/list",
      async run(env, body) {
        const key = await createUserKey(readText(body, "user"));
        const after = readCursor(body) ?? "";
        const tasks = await open(env).run(key, listWatches, { after });
        const last = tasks.length === PAGE ? tasks.at(-1) : undefined;
        // without the gateway's response, which has the links of the video
        const watches = tasks.map(exportTask).map(({ task: _, ...facts }) => facts);
        return { watches, ...(last && { cursor: last.id }) };
      },
    },
    {
      name: "watches/poll",
      async run(env, body) {
        const host = open(env);
        const key = await createUserKey(readText(body, "user"));
        const id = readText(body, "id");
        await host.run(key, parts.operations.pollAgain, { id });
        await pollTask(parts, { host, key, env }, id);
        const task = await host.run(key, findWatch, { id });
        return { watch: task && exportTask(task) };
      },
    },
  ];
}

function exportTask(task: WatchedTask) {
  const { id, userId, created, isRemoved = false, startedAt, envelope, end } = task;
  return {
    id: created?.sentId ?? id,
    gatewayId: id,
    user: userId,
    model: created?.model,
    requestId: created?.requestId,
    startedAt,
    isRemoved,
    ...(end && { state: getEndState(task, end), endedAt: end.at }),
    task: envelope === undefined ? null : (JSON.parse(envelope) as unknown),
  };
}
