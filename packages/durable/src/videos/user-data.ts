import type { PluginServer, UserData } from "@sluice/worker-proxy/plugin";
import { exportPage } from "../admin/export-page.js";
import { createUserKey } from "../host/user-key.js";
import { DEAD_LETTERS_KEY, eraseDeadLetters } from "./dead-letters.js";
import { createWatchEvent } from "./report.js";
import { getEndState, type WatchedTask } from "./task.js";
import { eraseWatches, listWatches } from "./watches.js";

/** Exports and erases the watches of a user. Also erases the dead letters. */
export function createUserData<Env>(getServer: () => PluginServer<Env>): UserData<Env> {
  return {
    name: "watches",
    async eraseUser(env, userId) {
      const server = getServer();
      const host = server.host(env);
      const key = await createUserKey(userId);
      for (let isDone = false; !isDone; ) {
        const erased = await host.run(key, eraseWatches, null);
        for (const task of erased.stopped)
          server.report(createWatchEvent(task, "stopped", "user_erased"), env);
        ({ isDone } = erased);
      }
      // erase dead letters last: a deleted watch adds no more
      while (!(await host.run(DEAD_LETTERS_KEY, eraseDeadLetters, { userKey: key })));
    },
    async exportUser(env, userId, cursor) {
      const host = getServer().host(env);
      const key = await createUserKey(userId);
      return exportPage(cursor, (after) => host.run(key, listWatches, { after }), exportTask);
    },
  };
}

function exportTask(task: WatchedTask) {
  const { id, userId, created, isRemoved = false, startedAt, envelope, end } = task;
  return {
    id: created?.signedId ?? id,
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
