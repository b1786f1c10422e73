import type { VideoTaskEntry } from "@sluice/react";
import { useState } from "react";
import { formatDuration } from "@/components/sluice/format";
import { videoWords } from "@/components/sluice/media-words";
import { useNow } from "@/components/sluice/use-now";

const words = videoWords.progress;

/** State of a video for people. A create without a response, or a task that is not checked any more, is `unknown`. */
type VideoState = "running" | "done" | "failed" | "unknown";

/** State of a video for people. */
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
  /** The share that was shown then: a bar does not go back. */
  readonly shown: number;
}

/** Below this share the gateway's figure says little about the time that is left. */
const MIN_SHARE = 0.1;
/** The bar waits here until the video is there. */
const ALMOST = 0.95;
/** A video that takes so many times as long as estimated is late. */
const LATE = 1.2;

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
  if (task?.state === "result-pending") return { share: ALMOST, text: words.finishing };
  const elapsed = Math.max(0, now - submittedAt);
  const inQueue = task?.startedAt && task.submittedAt ? task.startedAt - task.submittedAt : 0;
  const byReport =
    report.share >= MIN_SHARE
      ? inQueue + Math.max(0, report.at - submittedAt - inQueue) / report.share
      : undefined;
  // later than usual: the gateway's figure is all that is left
  const total = usualMs !== undefined && elapsed < usualMs ? usualMs : (byReport ?? usualMs);
  const time = formatDuration(elapsed);
  if (total === undefined)
    return {
      share: report.share || undefined,
      text: task?.state === "running" ? words.making(time) : words.starting(time),
    };
  return {
    share: Math.min(ALMOST, Math.max(report.share, report.shown, elapsed / total)),
    text: elapsed > LATE * total ? words.late(time) : describeTime(total - elapsed),
  };
}

function describeTime(leftMs: number): string {
  return leftMs < 1500 ? words.almost : words.left(formatDuration(leftMs));
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
