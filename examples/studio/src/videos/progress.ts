import type { VideoTaskEntry } from "@sluice/core";
import { shortTime } from "../media/words.js";

/** Progress of a video, for a bar and a line of text. */
export interface Progress {
  /** From 0 to 1; undefined where nobody knows. */
  readonly share: number | undefined;
  readonly text: string;
}

/** Below this share the gateway's figure says little about the time that is left. */
const LEAST_SHARE = 0.1;
/** The bar waits here until the video is there. */
const ALMOST = 0.95;

/**
 * Estimates the progress of a task between two answers of the gateway.
 *
 * @param usualMs time that the last videos of the model took, in milliseconds
 * @param now Unix milliseconds
 */
export function progressOf(entry: VideoTaskEntry, usualMs: number | undefined, now: number): Progress {
  const { task, submittedAt } = entry;
  if (task?.state === "result-pending") return { share: ALMOST, text: "Finishing…" };
  const elapsed = Math.max(0, now - submittedAt);
  const reported = task?.progress ?? 0;
  const byReport = reported >= LEAST_SHARE ? elapsed / reported : undefined;
  // later than usual: the gateway's figure is all that is left
  const total = usualMs !== undefined && elapsed < usualMs ? usualMs : (byReport ?? usualMs);
  if (total === undefined)
    return {
      share: reported || undefined,
      text: task?.state === "running" ? "Making your video…" : "Starting…",
    };
  const left = total - elapsed;
  const passed = usualMs === undefined ? 0 : elapsed / usualMs;
  return {
    share: Math.min(ALMOST, Math.max(reported, passed)),
    text: left < 1500 ? "Almost done" : `About ${shortTime(left)} left`,
  };
}

/** Number of videos that the usual time is made of. */
const MOST = 5;

/** Returns the time that the last videos of a model took here, in milliseconds; undefined before the first. */
export function usualTimeOf(model: string, tasks: readonly VideoTaskEntry[]): number | undefined {
  const times = tasks
    .filter((entry) => entry.model === model)
    .flatMap(({ task }) =>
      task?.state === "succeeded" && task.finishedAt !== undefined && task.submittedAt !== undefined
        ? task.finishedAt - task.submittedAt
        : [],
    )
    .slice(0, MOST)
    .sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}
