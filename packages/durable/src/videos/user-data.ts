import type { AdminOperation, UserData } from "@sluice/worker-proxy";
import { ensure } from "@sluice/worker-proxy/plugin";
import { createUserKey } from "../host/user-key.js";
import { DEAD_LETTERS_KEY, removeLettersOfUser } from "./dead-letter-rows.js";
import { pollTask, type WatchParts } from "./jobs.js";
import { pollAgain } from "./polls.js";
import { createWatchEvent } from "./report.js";
import { getEndState, type WatchedTask } from "./task.js";
import { eraseWatches, findWatch, listWatches, PAGE } from "./watches.js";

/** Largest export of a user, in characters. */
const MAX_EXPORT_CHARACTERS = 8 * 1024 * 1024;

/** Exports and erases the watches of a user, and the dead letters of their ends. */
export function createUserData<Env>(parts: WatchParts<Env>): UserData<Env> {
  return {
    name: "watches",
    async eraseUser(env, userId) {
      const server = parts.server();
      const host = server.host(env);
      const key = await createUserKey(userId);
      for (let isDone = false; !isDone; ) {
        const erased = await host.run(key, eraseWatches, null);
        for (const task of erased.stopped)
          server.report(createWatchEvent(task, "stopped", "user_erased"), env);
        ({ isDone } = erased);
      }
      // last: a watch that is gone adds none
      while (!(await host.run(DEAD_LETTERS_KEY, removeLettersOfUser, { userKey: key })));
    },
    async exportUser(env, userId) {
      const host = parts.server().host(env);
      const key = await createUserKey(userId);
      const all: unknown[] = [];
      let characters = 0;
      for (let after = "", isDone = false; !isDone; ) {
        const tasks = await host.run(key, listWatches, { after });
        all.push(...tasks.map(exportTask));
        for (const { envelope = "" } of tasks) characters += envelope.length;
        // an export of more is refused as too large: the rest need not be read
        isDone = tasks.length < PAGE || characters > MAX_EXPORT_CHARACTERS;
        after = tasks.at(-1)?.id ?? "";
      }
      return all;
    },
  };
}

/** The operations of an operator on the watches of a user: `watches/list` and `watches/poll`. */
export function createWatchOperations<Env>(parts: WatchParts<Env>): readonly AdminOperation<Env>[] {
  const open = (env: Env) => parts.server().host(env);
  return [
    {
      name: "watches/list",
      async run(env, { user, cursor }) {
        const key = await createUserKey(readText("user", user));
        const after = cursor === undefined ? "" : readText("cursor", cursor);
        const tasks = await open(env).run(key, listWatches, { after });
        const last = tasks.length === PAGE ? tasks.at(-1) : undefined;
        // without the gateway's response, which has the links of the video
        const watches = tasks.map(exportTask).map(({ task: _, ...facts }) => facts);
        return { watches, ...(last && { cursor: last.id }) };
      },
    },
    {
      name: "watches/poll",
      async run(env, { user, id: given }) {
        const host = open(env);
        const key = await createUserKey(readText("user", user));
        const id = readText("id", given);
        await host.run(key, pollAgain, { id });
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

function readText(name: string, value: unknown): string {
  ensure(typeof value === "string" && value !== "" && !value.includes("\0"), `${name}: give a text`);
  return value;
}
