import type { AdmittedRequest, ProxyContext } from "@sluice/worker-proxy";
import { logCause } from "@sluice/worker-proxy/plugin";
import type { EndContext, EndedTask } from "../../videos/end-handler.js";
import type { Store } from "../files/store.js";
import { addCopies } from "./copies.js";
import { reportCopy } from "./report.js";
import { findImages, findVideos, type ResultFile } from "./results.js";

/** Makes the functions that store which results of the gateway are to be copied. */
export function createArchive<Env>(store: Store<Env>) {
  return { archive, watchResponse };

  /**
   * Has the video of a watched task copied, and its last frame. Each is copied once, however often this is called. Does
   * nothing for a task without a video. Its name stands for it in the rows of the watch.
   *
   * @throws {Refusal} 503 where the database fails
   */
  async function archive(
    { gatewayId: id, userId, task }: EndedTask,
    { env }: EndContext<Env>,
  ): Promise<void> {
    await copy(env, userId, await findVideos({ id, answer: task }));
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
    const { log } = store.server;
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
