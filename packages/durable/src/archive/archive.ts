import { parseVideoTask } from "@sluice/core/internal";
import { createEventParser, type ServerSentEvent } from "@sluice/core/sse";
import type { AdmittedRequest, ProxyContext, User } from "@sluice/worker-proxy";
import { hashOf, logError } from "@sluice/worker-proxy/internal";
import type { StoreParts } from "../files/uploads.js";

/** A task that has ended, as the gateway reports it. */
export interface ArchivableTask {
  /** The gateway's own id. */
  readonly id: string;
  /** The gateway's answer to a query of the task, parsed. */
  readonly answer: unknown;
}

/** A file of the gateway's: its name for one user, and its address. */
interface Source {
  readonly source: string;
  readonly url: string;
  readonly taskId?: string;
}

/** Names the film of a task. Its address may be signed anew in each answer. */
export const filmOf = (taskId: string): Promise<string> => hashOf(`task\n${taskId}`);

/** Names the last frame of a task's film. */
export const frameOf = (taskId: string): Promise<string> => hashOf(`last frame\n${taskId}`);

/** Names a file by its address. */
export const fileAt = (url: string): Promise<string> => hashOf(`file\n${url}`);

/** Makes the functions that give files of the gateway's to the object of their user, which copies each once. */
export function createArchive<Env>(partsOf: (given: { readonly env: Env }) => Promise<StoreParts>) {
  return { archiveTask, watchAnswer };

  /**
   * Has the film of a task copied, and its last frame where it has one. Resolves when that is noted; does nothing for a
   * task without a film.
   */
  async function archiveTask(env: Env, user: Pick<User, "id">, task: ArchivableTask): Promise<void> {
    await copy(env, user, await filmsIn(task));
  }

  /** Has the files in an answer copied, after it has left. Returns the answer. */
  function watchAnswer(admitted: AdmittedRequest<Env>, response: Response): Response {
    const { env, user, route, id, context } = admitted;
    const isTask = route === "videos" && id !== undefined;
    const type = response.headers.get("content-type");
    if (!response.ok || !response.body || !(isTask || route === "images")) return response;
    const note = (answer: unknown) => {
      const files = isTask ? filmsIn({ id, answer }) : imagesIn(answer);
      return files.then((found) => copy(env, user, found));
    };
    if (isTask && type === "text/event-stream")
      return new Response(response.body.pipeThrough(eventsSeen(note, context)), response);
    if (type === "application/json")
      inBackground(
        context,
        response
          .clone()
          .text()
          .then((text) => note(JSON.parse(text))),
      );
    return response;
  }

  async function copy(env: Env, { id: userId }: Pick<User, "id">, files: readonly Source[]): Promise<void> {
    if (files.length === 0) return;
    const { links, space } = await partsOf({ env });
    const jobs = files.map(async (file) => ({ ...file, userId, id: await links.newId(userId) }));
    await space.ask(userId, { do: "copy", jobs: await Promise.all(jobs) });
  }
}

/** Passes a stream on as it comes, and notes the tasks in its events. */
function eventsSeen(note: (answer: unknown) => Promise<void>, context: ProxyContext | undefined) {
  // an event with an error is JSON, too, and names no file
  const onEvent = ({ data }: ServerSentEvent) =>
    inBackground(
      context,
      Promise.resolve(data).then((text) => note(JSON.parse(text))),
    );
  const parser = createEventParser({ onEvent });
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, out) {
      out.enqueue(bytes);
      parser.push(bytes);
    },
  });
}

function inBackground(context: ProxyContext | undefined, work: Promise<unknown>): void {
  const noted = work.catch(() => logError("archive: the files of an answer could not be noted"));
  context?.waitUntil(noted);
}

async function filmsIn({ id, answer }: ArchivableTask): Promise<readonly Source[]> {
  try {
    const task = parseVideoTask(answer, { id });
    if (task.state !== "succeeded") return [];
    const { url, lastFrameURL } = task;
    const film = { source: await filmOf(id), url, taskId: id };
    return lastFrameURL ? [film, { ...film, source: await frameOf(id), url: lastFrameURL }] : [film];
  } catch {
    // an answer without a task
    return [];
  }
}

async function imagesIn(answer: unknown): Promise<readonly Source[]> {
  const data = (answer as { data?: unknown } | null)?.data;
  const urls = (Array.isArray(data) ? data : [])
    .map((image: { url?: unknown } | null) => image?.url)
    .filter((url) => typeof url === "string" && /^https?:/.test(url)) as string[];
  return await Promise.all(urls.map(async (url) => ({ source: await fileAt(url), url })));
}
