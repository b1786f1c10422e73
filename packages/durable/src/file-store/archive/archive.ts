import { parseVideoTask } from "@sluice/core";
import { type AdmittedRequest, hashText, Refusal } from "@sluice/worker-proxy/plugin";
import type { TaskResult } from "../../shared/result-handlers.js";
import type { Store } from "../files/store.js";
import { addCopies, type NewCopy } from "./copies.js";
import { logCopy } from "./copy-job.js";

/** Creates the functions that queue results of the gateway for copying. */
export function createArchive<Env>(store: Store<Env>) {
  return { queueTaskFiles, queueResponseFiles };

  /**
   * Queues the video of a watched task and its last frame for copying. Repeated calls copy each file once. Does nothing
   * for a task without a video.
   *
   * @throws {Refusal} 503 if the database fails
   */
  async function queueTaskFiles({ env, userId, id, response }: TaskResult<Env>): Promise<void> {
    try {
      await queueCopies(env, userId, await findVideos(id, response));
    } catch (error) {
      // a missing bucket must not stop the watch
      if (Refusal.from(error).code !== "misconfigured") throw error;
      await store.server.log(`archive: the video of task ${id} is not copied`, error, { env });
    }
  }

  /** Queues the files of a response for copying. The response does not wait for this. */
  function queueResponseFiles({ env, user, route, id, context }: AdmittedRequest<Env>, json: unknown): void {
    const isTask = route === "videos" && id !== undefined;
    if (!isTask && route !== "images") return;
    const files = isTask ? findVideos(id, json) : findImages(json);
    const queued = files
      .then((found) => queueCopies(env, user.id, found))
      .catch((error: unknown) =>
        store.server.log("archive: the files of a response could not be stored", error, { env }),
      );
    context?.waitUntil(queued);
  }

  async function queueCopies(env: Env, userId: string, found: readonly ResultFile[]): Promise<void> {
    if (found.length === 0) return;
    const files = await store.open(env, userId);
    const maxFiles = store.settings.maxFilesPerUser;
    const copies = await Promise.all(
      found.map(async (file) => ({ ...file, id: await files.links.createId(userId) })),
    );
    for (const dropped of await files.run(addCopies, { userId, copies, maxFiles })) {
      await logCopy(files, dropped, `${maxFiles} copies are waiting; dropped`);
      const event = { outcome: "dropped", code: "too_many_copies" } as const;
      files.report({ ...dropped, isCopy: 1, bytes: 0 }, event);
    }
  }
}

type ResultFile = Omit<NewCopy, "id">;

/** Maximum number of files to copy per response. */
const MAX_FILES = 100;

/**
 * Creates the source of a task's video. It does not depend on the URL, because each response may sign the URL again.
 */
export const hashVideoSource = (taskId: string): Promise<string> => hashText(`task\n${taskId}`);

/** Creates the source of the last frame of a task's video. */
export const hashFrameSource = (taskId: string): Promise<string> => hashText(`last frame\n${taskId}`);

/** Creates the source of a file from its URL. */
export const hashURLSource = (url: string): Promise<string> => hashText(`file\n${url}`);

/** Returns the video of a task and its last frame; an empty list for a task without a video. */
async function findVideos(
  id: string,
  /** The gateway's parsed response to a query of the task. */
  response: unknown,
): Promise<readonly ResultFile[]> {
  const task = parseTask(id, response);
  if (task?.state !== "succeeded") return [];
  const video = { source: await hashVideoSource(id), url: task.url, taskId: id };
  if (!task.lastFrameURL) return [video];
  return [video, { ...video, source: await hashFrameSource(id), url: task.lastFrameURL }];
}

function parseTask(id: string, response: unknown) {
  try {
    return parseVideoTask(response, { id });
  } catch {
    // the response contains no task
    return undefined;
  }
}

/** Returns the images of a response that have a URL. */
async function findImages(response: unknown): Promise<readonly ResultFile[]> {
  const data = (response as { data?: unknown } | null)?.data;
  const urls = (Array.isArray(data) ? data : [])
    .map((image: { url?: unknown } | null) => image?.url)
    .filter((url) => typeof url === "string" && /^https?:/.test(url)) as string[];
  const files = urls
    .slice(0, MAX_FILES)
    .map(async (url) => ({ source: await hashURLSource(url), url, taskId: null }));
  return await Promise.all(files);
}
