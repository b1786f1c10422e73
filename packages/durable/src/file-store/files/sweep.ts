import type { HostContext, Job, JobEvent } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/plugin";
import { findDue } from "./removal.js";
import type { Store } from "./store.js";
import { type FileRow, SWEEP, type UserInput } from "./tables.js";

/**
 * Makes the job that deletes files of a user whose time is over, and files that a request left when it was cut. One run
 * deletes one page; the next one is scheduled by its last operation.
 */
export function createSweep<Env>(store: Store<Env>): Job<UserInput> {
  return { ...SWEEP, run: async (context, { userId }) => void (await sweepPage(store, context, userId)) };
}

/** Deletes a page of files. Returns their number, and the error where the bucket did not delete all of them. */
export async function sweepPage<Env>(
  store: Store<Env>,
  { host, env }: Pick<HostContext, "host" | "env">,
  userId: string,
): Promise<{ readonly count: number; readonly cause?: unknown }> {
  const own = env as Env;
  const { run, deleteAll } = await store.open(own, userId, host);
  const files = await run(findDue, { userId });
  const { left, cause, isWhole } = await deleteAll(files);
  for (const row of left)
    report(row, { outcome: "waiting", code: "not_deleted", attempts: row.removals, nextAt: row.dueAt });
  if (!isWhole) logError(`fileStore: the bucket did not delete ${left.length} files; it is tried again`);
  const unfinished = files.filter(({ state, isCopy }) => state === "open" && !isCopy);
  for (const row of unfinished) report(row, { outcome: "dropped", code: "upload_unfinished" });
  return { count: files.length, cause };

  function report(
    { id, bytes, isCopy }: FileRow,
    event: Partial<JobEvent> & Pick<JobEvent, "outcome">,
  ): void {
    store.server.report({ kind: isCopy ? "copy" : "upload", ...event, id, bytes, user: userId }, own);
  }
}
