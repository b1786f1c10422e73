import type { Client, SucceededVideoTask } from "@sluice/core";
import { applyCopy, findCopy } from "../archive/renewal.js";

/* Loaded when the link of a video has expired and the proxy stores a copy. */

/**
 * Returns the task with new links to the proxy's copies. If the proxy has no copy, removes `keptUntil`.
 *
 * @throws the errors of `getArchivedMedia`
 */
export async function renewTask(client: Client, task: SucceededVideoTask): Promise<SucceededVideoTask> {
  const copy = await findCopy(client, "tasks", task.id);
  const renewed = applyCopy(task, copy);
  if (!copy) return renewed;
  // the old link of the last frame has expired, too
  const { lastFrameURL: _, ...video } = renewed;
  return copy.lastFrame ? { ...video, lastFrameURL: copy.lastFrame.url } : video;
}
