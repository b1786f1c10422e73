import type { VideoTask, VideoTaskState } from "@sluice/core";

/** How far a task has come, in a word or two. */
export function wordOf(task: VideoTask | undefined): string {
  switch (task?.state) {
    case undefined:
      return "Taken by the gateway";
    case "queued":
      return "Waiting in the queue";
    case "running":
      return "Being made";
    case "result-pending":
      return "Made, its link is not there yet";
    case "unknown":
      return `The gateway says “${task.rawStatus}”`;
    case "succeeded":
      return "Done";
    case "failed":
      return "Failed";
  }
}

/** What happens next with a task that is not over. */
export function nextOf(
  {
    fetchStatus,
    pauseReason,
    nextPollAt,
  }: Pick<VideoTaskState, "fetchStatus" | "pauseReason" | "nextPollAt">,
  now: number,
): string {
  if (fetchStatus === "fetching") return "The gateway is being asked.";
  if (fetchStatus === "paused")
    return pauseReason === "offline"
      ? "Paused: you are offline. It is asked about again once you are back."
      : "Paused while nobody sees this page.";
  if (nextPollAt === undefined) return "Another tab of the studio asks about it.";
  return `Asked about again in ${Math.max(0, Math.ceil((nextPollAt - now) / 1000))} s.`;
}
