import type { VideoTaskEntry } from "@sluice/react";
import { useState } from "react";
import { formatDuration } from "@/components/sluice/format";
import { videoWords } from "@/components/sluice/media-words";
import { useNow } from "@/components/sluice/use-now";

const words = videoWords.progress;

/** State of a video. `unknown`: its create got no response, or its polls ended with an error. */
type VideoState = "running" | "done" | "failed" | "unknown";

export function getVideoState({ task, error, state }: VideoTaskEntry): VideoState {
  if (task?.state === "succeeded") return "done";
  if (task?.state === "failed") return "failed";
  return error || state === "unconfirmed" ? "unknown" : "running";
}

/** Progress of a video, for a bar and a line of text. Between two reports of the gateway it is an estimate. */
export interface Progress {
  /** From 0 to 1; undefined if unknown. */
  readonly share: number | undefined;
  readonly text: string;
}

/** A progress that the gateway reported. */
interface Report {
  readonly share: number;
  /** Unix milliseconds. */
  readonly at: number;
  /** The share that the bar showed then: it never goes back. */
  readonly shown: number;
}

/** Minimum share from which the remaining time is estimated. */
const MIN_SHARE = 0.1;
/** Maximum share of a running video. */
const MAX_SHARE = 0.95;
/** A video is late after this multiple of its estimated time. */
const LATE_FACTOR = 1.2;

/**
 * Estimates the progress of a task, each second.
 *
 * @param usualMs time that the last videos of the model took, in milliseconds
 */
export function useProgress(entry: VideoTaskEntry, usualMs: number | undefined): Progress {
  const now = useNow(1000);
  const share = entry.task?.progress ?? 0;
  const [report, setReport] = useState<Report>({ share, at: now, shown: 0 });
  const progress = computeProgress(entry, report, usualMs, now);
  if (share !== report.share) setReport({ share, at: now, shown: progress.share ?? 0 });
  return progress;
}

function computeProgress(
  { task, submittedAt }: VideoTaskEntry,
  report: Report,
  usualMs: number | undefined,
  now: number,
): Progress {
  if (task?.state === "result-pending") return { share: MAX_SHARE, text: words.finishing };
  const elapsed = Math.max(0, now - submittedAt);
  const queuedMs = task?.startedAt && task.submittedAt ? task.startedAt - task.submittedAt : 0;
  const estimatedMs =
    report.share >= MIN_SHARE
      ? queuedMs + Math.max(0, report.at - submittedAt - queuedMs) / report.share
      : undefined;
  // a video that takes longer than usual is estimated by the report alone
  const total = usualMs !== undefined && elapsed < usualMs ? usualMs : (estimatedMs ?? usualMs);
  const time = formatDuration(elapsed);
  if (total === undefined)
    return {
      share: report.share || undefined,
      text: task?.state === "running" ? words.making(time) : words.starting(time),
    };
  return {
    share: Math.min(MAX_SHARE, Math.max(report.share, report.shown, elapsed / total)),
    text: elapsed > LATE_FACTOR * total ? words.late(time) : describeTime(total - elapsed),
  };
}

function describeTime(remainingMs: number): string {
  return remainingMs < 1500 ? words.almost : words.left(formatDuration(remainingMs));
}

/** Maximum number of videos whose times are used. */
const MAX_VIDEOS = 5;

/** Returns the time that the last videos of a model took here, in milliseconds; undefined before the first. */
export function estimateTime(model: string, tasks: readonly VideoTaskEntry[]): number | undefined {
  const times = tasks
    .filter((entry) => entry.model === model)
    .flatMap(({ task }) =>
      task?.state === "succeeded" && task.finishedAt !== undefined && task.submittedAt !== undefined
        ? task.finishedAt - task.submittedAt
        : [],
    )
    .slice(0, MAX_VIDEOS)
    .sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}
