import type { JobEvent } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/plugin";
import { getEndState, type TaskEnd, type WatchedTask } from "./task.js";

/** Creates the event for the end of a watch. Also logs the outcome `lost`. */
export function createWatchEvent(
  task: WatchedTask,
  outcome: JobEvent["outcome"],
  code: string | undefined,
): JobEvent {
  const { id, userId, created, polls, startedAt } = task;
  const { model, requestId } = created ?? {};
  if (outcome === "lost")
    logError(
      `videoWatch: task ${id} ends without a known result: ${code} (request ${requestId ?? "unknown"})`,
    );
  const names = { id, taskId: id, userId, model, requestId };
  const durationMs = Date.now() - startedAt;
  return { type: "job", job: "watch", ...names, outcome, code, attempts: polls, durationMs };
}

/** Returns the outcome of a watch, and the code of its cause. */
export function getOutcome(
  task: WatchedTask,
  end: TaskEnd,
): [outcome: JobEvent["outcome"], code: string | undefined] {
  const state = getEndState(task, end);
  const stored = end.refusal && (JSON.parse(end.refusal.error) as { error: { code?: string } });
  const code = stored ? stored.error.code : `task_${state}`;
  if (task.isRemoved) return ["stopped", code];
  if (state === "succeeded") return ["complete", undefined];
  const isLost = code === "task_not_found" || code === "watch_timeout";
  return [isLost ? "lost" : "error", code];
}
