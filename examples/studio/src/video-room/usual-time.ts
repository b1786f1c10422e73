import type { VideoTaskEntry } from "@sluice/core";
import { type VideoModel, videoModels } from "@sluice/core/schemas";
import { duration } from "../room/use-now.js";

/** The gateway's own word, for the one family that it has a word on. No promise: typical values, it says. */
const SAID_OF_BETA = "usually 1 to 5 min";

/** Of more than these the oldest tell little of today. */
const MOST = 5;

/**
 * How long a video of `model` takes, in words: as the gateway says, or else as it was for what this browser's `tasks`
 * made. Undefined where neither knows.
 */
export function usualTimeOf(model: string, tasks: readonly VideoTaskEntry[]): string | undefined {
  if (isBeta(model)) return SAID_OF_BETA;
  const took = tasks
    .filter((entry) => entry.model === model)
    .flatMap((entry) => tookOf(entry) ?? [])
    .slice(0, MOST);
  const [shortest, longest] = [Math.min(...took), Math.max(...took)].map(duration);
  if (took.length === 0) return undefined;
  if (took.length === 1) return `the last one here took ${longest}`;
  return `the last ${took.length} here took ${shortest === longest ? longest : `${shortest} to ${longest}`}`;
}

/** How long the gateway took from the order to the video, by its own clock, in milliseconds. */
function tookOf({ task }: VideoTaskEntry): number | undefined {
  if (task?.state !== "succeeded" || task.finishedAt === undefined || task.submittedAt === undefined)
    return undefined;
  return task.finishedAt - task.submittedAt;
}

function isBeta(model: string): boolean {
  return Object.hasOwn(videoModels, model) && videoModels[model as VideoModel].family === "beta";
}
