import type { JobOutcome } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import type { ObjectStorage } from "../objects/object.js";
import type { openReaders } from "../objects/readers.js";
import { outcomeOf } from "./end.js";
import type { WatchParts } from "./parts.js";
import type { WatchState } from "./state.js";
import { afterAnswer, isToldBefore, soonestPoll, type WatchedTask } from "./task.js";

/** Time for which an end is kept: of a task that was watched from its create, and of others. */
export const CREATED_KEPT_MS = 7 * 24 * 60 * 60_000;
export const KEPT_MS = 10 * 60_000;

/** Opens the polling of a task: one poll at a time, whoever asks for it. */
export function openPolling(
  watch: WatchState,
  storage: ObjectStorage,
  readers: ReturnType<typeof openReaders>,
  { poll, intervalMs, rememberMs, onEnd, report }: WatchParts,
) {
  let polling: Promise<void> | undefined;
  return { pollOnce, reportEnd };

  /** Polls for all who wait for it, and never sooner than the task may be polled. */
  function pollOnce(): Promise<void> {
    polling ??= pollNow().finally(() => {
      polling = undefined;
    });
    return polling;
  }

  async function pollNow(): Promise<void> {
    if (!watch.task || watch.task.end) return;
    const soonest = soonestPoll(watch.task, intervalMs);
    if (Date.now() < soonest) return storage.setAlarm(Math.max(soonest, watch.task.nextAt));
    // stored first: after an eviction in between, the poll counts
    await watch.store({ ...watch.task, askedAt: Date.now(), polls: watch.task.polls + 1 });
    const { startedAt } = watch.task;
    const answer = await poll(watch.task.id);
    if (watch.task?.startedAt !== startedAt) return; // erased meanwhile
    const now = Date.now();
    const current = readers.count > 0 ? { ...watch.task, lastReaderAt: now } : watch.task;
    const keepMs = rememberMs ?? (watch.task.created ? CREATED_KEPT_MS : KEPT_MS);
    const next = afterAnswer(current, answer, { now, keepMs, intervalMs, random: Math.random() });
    await keep(next);
  }

  /** Stores before it sends, so that no event number is used twice. */
  async function keep(next: WatchedTask): Promise<void> {
    await watch.store(next);
    await storage.setAlarm(next.end && onEnd && next.created ? next.end.at : next.nextAt);
    readers.wake();
    if (next.end && !isToldBefore(next)) reportEnd(next, ...outcomeOf(next, next.end));
  }

  function reportEnd(over: WatchedTask, outcome: JobOutcome, code: string | undefined): void {
    const { id, created, userId, polls, startedAt } = over;
    const { model, requestId } = { ...created };
    const facts = { taskId: id, user: created?.userId ?? userId, model, requestId };
    const durationMs = Date.now() - startedAt;
    report({ kind: "watch", id, outcome, code, ...facts, attempts: polls, durationMs });
    if (outcome === "lost")
      logError(
        `videoWatch: task ${id} ends without a known result: ${code} (request ${requestId ?? "unknown"})`,
      );
  }
}
