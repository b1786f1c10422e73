import type { Client, SucceededVideoTask } from "@sluice/core";
import { newestCopy, withCopy } from "../archive/renewal.js";

/* Loaded where the link of a video has run out, and the proxy keeps a copy. */

/**
 * Returns the task with new links to the proxy's copies; as gone, if there is none.
 *
 * @throws the errors of `getArchivedMedia`
 */
export async function renewedTask(client: Client, task: SucceededVideoTask): Promise<SucceededVideoTask> {
  const copy = await newestCopy(client, "tasks", task.id);
  const renewed = withCopy(task, copy);
  if (!copy) return renewed;
  // a last frame that was not copied is gone with the link that has expired
  const { lastFrameURL: _, ...film } = renewed;
  return copy.lastFrame ? { ...film, lastFrameURL: copy.lastFrame.url } : film;
}
