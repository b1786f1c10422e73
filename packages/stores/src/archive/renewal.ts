import type { Client, SucceededVideoTask } from "@sluice/core";
import { type ArchivedMedia, getArchivedMedia } from "@sluice/core/files";

/* Loaded when a link has expired and the proxy stores a copy. */

/** Time to collect tasks for one request, in milliseconds. */
const COLLECT_MS = 20;
/** Minimum lifetime of a renewed link in milliseconds, for devices whose clock is ahead. */
const MIN_LIFE_MS = 3_600_000;

/** The tasks of the next request. */
interface Batch {
  readonly ids: Set<string>;
  readonly found: Promise<ReadonlyMap<string, ArchivedMedia>>;
}

const batches = new WeakMap<Client, Batch>();

/**
 * Returns the task with new links to the proxy's copies; without a copy, without `storedUntil`. Renewals of the page at
 * the same time share one request.
 *
 * @throws the errors of `getArchivedMedia`
 */
export async function renewTask(client: Client, task: SucceededVideoTask): Promise<SucceededVideoTask> {
  const batch = batches.get(client) ?? openBatch(client);
  batch.ids.add(task.id);
  const copy = (await batch.found).get(task.id);
  const { storedUntil: _, ...withoutCopy } = task;
  if (!copy) return withoutCopy;
  const { url, storedUntil, lastFrame } = copy;
  const expiresAt = Math.max(copy.expiresAt, Date.now() + MIN_LIFE_MS);
  // without a copy of the last frame, its link has expired as well
  const { lastFrameURL: _expired, ...video } = withoutCopy;
  return { ...video, url, expiresAt, storedUntil, ...(lastFrame && { lastFrameURL: lastFrame.url }) };
}

function openBatch(client: Client): Batch {
  const ids = new Set<string>();
  const found = client.clock.sleep(COLLECT_MS).then(() => {
    batches.delete(client);
    return getArchivedMedia(client, { tasks: [...ids] });
  });
  const batch = { ids, found };
  batches.set(client, batch);
  return batch;
}
