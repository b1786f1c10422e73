import type { AdmittedRequest, ProxyContext, ProxyPlugin } from "@sluice/worker-proxy";
import { logCause } from "@sluice/worker-proxy/internal";
import { reportCopy } from "../files/report-copy.js";
import type { Store } from "../files/store.js";
import { addCopies } from "./copies.js";
import { type ArchivableTask, findImages, findVideos, type ResultFile } from "./results.js";

/**
 * Has the video of a task copied for its user, and its last frame where it has one. Each is copied once, however often this is
 * called. Resolves once that is stored; the copy follows. Does nothing for a task without a video.
 *
 * @throws {Refusal} 503 where the database fails
 */
export type ArchiveTask<Env = unknown> = (env: Env, userId: string, task: ArchivableTask) => Promise<void>;

/** The archives of plugins, for the end of a video that no page sees. */
const archives = new WeakMap<object, ArchiveTask<never>>();

/** Stores the archive of a plugin. */
export function registerArchive<Env>(plugin: ProxyPlugin<Env>, archive: ArchiveTask<Env>): void {
  archives.set(plugin, archive);
}

/** Returns the archive among the plugins of a proxy; undefined where none of them copies results. */
export function findArchive<Env>(plugins: readonly ProxyPlugin<Env>[]): ArchiveTask<Env> | undefined {
  for (const plugin of plugins) {
    const archive = archives.get(plugin);
    if (archive) return archive as ArchiveTask<unknown>;
  }
  return undefined;
}

/** Makes the functions that store which results of the gateway are to be copied. */
export function createArchive<Env>(store: Store<Env>) {
  return { archiveTask, watchResponse };

  async function archiveTask(env: Env, userId: string, task: ArchivableTask): Promise<void> {
    await copy(env, userId, await findVideos(task));
  }

  /** Has the files of a response copied. The response does not wait for it. */
  function watchResponse({ env, user, route, id, context }: AdmittedRequest<Env>, json: unknown): void {
    const isTask = route === "videos" && id !== undefined;
    if (!isTask && route !== "images") return;
    const find = isTask ? findVideos({ id, answer: json }) : findImages(json);
    const stored = find.then((found) => copy(env, user.id, found));
    runInBackground(stored, env, context);
  }

  function runInBackground(work: Promise<void>, env: Env, context: ProxyContext | undefined): void {
    const { log } = store.server.settings;
    const logged = work.catch((error: unknown) =>
      logCause("archive: the files of a response could not be stored", error, { env, log }),
    );
    context?.waitUntil(logged);
  }

  async function copy(env: Env, userId: string, found: readonly ResultFile[]): Promise<void> {
    if (found.length === 0) return;
    const { links, run } = await store.open(env, userId);
    const maxFiles = store.settings.maxFilesPerUser;
    const copies = await Promise.all(
      found.map(async (file) => ({ ...file, id: await links.createId(userId) })),
    );
    const dropped = await run(addCopies, { userId, copies, maxFiles });
    for (const one of dropped) {
      const event = { outcome: "dropped", code: "too_many_copies" } as const;
      await reportCopy(store, env, { ...one, userId }, event, `${maxFiles} copies are waiting; dropped`);
    }
  }
}
