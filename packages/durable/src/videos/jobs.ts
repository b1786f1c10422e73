import type { HostContext } from "@sluice/worker-proxy";
import { hashText, type PluginServer } from "@sluice/worker-proxy/plugin";
import type { EndWork } from "./end-handler.js";
import type { createPollOperations, WatchRules } from "./polls.js";
import { queryTask } from "./query-task.js";
import { createWatchEvent, getOutcome } from "./report.js";
import type { createDeletions } from "./watches.js";

/** The parts of a watch that its jobs and requests need. */
export interface WatchParts<Env> {
  readonly server: () => PluginServer<Env>;
  readonly rules: WatchRules;
  readonly operations: ReturnType<typeof createPollOperations> & ReturnType<typeof createDeletions>;
  /** The handlers of the app, after tasks that are watched from their create. */
  readonly work: EndWork<Env> | undefined;
  /** The handlers of other plugins, after all tasks. */
  readonly offered: () => readonly EndWork<Env>[];
}

/** The key of a user's rows, and its host. */
export type UserContext = Pick<HostContext, "host" | "key" | "env">;

/** Polls a task once, unless that is not due, and stores the result. */
export async function pollTask<Env>(parts: WatchParts<Env>, { host, key, env }: UserContext, id: string) {
  const { rules, operations, work } = parts;
  const server = parts.server();
  const run = crypto.randomUUID();
  const begun = await host.run(key, operations.beginPoll, { id, run, rules });
  if (begun.type === "none") return;
  if (begun.type === "abandoned")
    return server.report(createWatchEvent(begun.task, "orphaned", "no_reader"), env as Env);
  const [result, hash] = await Promise.all([
    queryTask(server, id, env as Env),
    hashText(`end\n${begun.task.userId}\n${id}`),
  ]);
  const other = parts.offered().flatMap(({ names }) => names);
  const over = await host.run(key, operations.applyPoll, {
    ...{ id, run, rules, result, hash, random: Math.random() },
    handlers: { created: [...(work?.names ?? []), ...other], other },
  });
  if (over?.end) server.report(createWatchEvent(over, ...getOutcome(over, over.end)), env as Env);
}
