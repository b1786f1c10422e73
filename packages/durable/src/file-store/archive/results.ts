import { parseVideoTask } from "@sluice/core";
import { hashText } from "@sluice/worker-proxy/plugin";

/** A file of the gateway: its name for one user, and its address. */
export interface ResultFile {
  readonly source: string;
  readonly url: string;
  readonly taskId: string | null;
}

/** A task that has ended, as the gateway reports it. */
export interface ArchivableTask {
  /** The gateway's own id. */
  readonly id: string;
  /** The gateway's response to a query of the task, parsed. */
  readonly answer: unknown;
}

/** Most files of one response that are copied. */
const MAX_FILES = 100;

/** Names the video of a task. Its address may be signed anew in each response. */
export const nameVideo = (taskId: string): Promise<string> => hashText(`task\n${taskId}`);

/** Names the last frame of a task's video. */
export const nameLastFrame = (taskId: string): Promise<string> => hashText(`last frame\n${taskId}`);

/** Names a file by its address. */
export const nameAddress = (url: string): Promise<string> => hashText(`file\n${url}`);

/** Returns the video of a task, and its last frame; nothing for a task that has none. */
export async function findVideos({ id, answer }: ArchivableTask): Promise<readonly ResultFile[]> {
  const task = parseTask({ id, answer });
  if (task?.state !== "succeeded") return [];
  const video = { source: await nameVideo(id), url: task.url, taskId: id };
  if (!task.lastFrameURL) return [video];
  return [video, { ...video, source: await nameLastFrame(id), url: task.lastFrameURL }];
}

function parseTask({ id, answer }: ArchivableTask) {
  try {
    return parseVideoTask(answer, { id });
  } catch {
    // a response without a task
    return undefined;
  }
}

/** Returns the images of a response that have an address. */
export async function findImages(answer: unknown): Promise<readonly ResultFile[]> {
  const data = (answer as { data?: unknown } | null)?.data;
  const urls = (Array.isArray(data) ? data : [])
    .map((image: { url?: unknown } | null) => image?.url)
    .filter((url) => typeof url === "string" && /^https?:/.test(url)) as string[];
  const named = urls
    .slice(0, MAX_FILES)
    .map(async (url) => ({ source: await nameAddress(url), url, taskId: null }));
  return await Promise.all(named);
}
