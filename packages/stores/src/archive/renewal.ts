import type { Client, SucceededVideoTask } from "@sluice/core";
import { type ArchivedMedia, getArchivedMedia } from "@sluice/core/files";
import type { ExpiringLink } from "./expiring-link.js";

/* Loaded when a link has expired and the proxy stores a copy. */

/** Time to collect names for one request, in milliseconds. */
const COLLECT_MS = 20;
/** Minimum lifetime of a renewed link in milliseconds, for devices whose clock is ahead. */
const MIN_LIFE_MS = 3_600_000;

type Names = Readonly<Record<"tasks" | "urls", Set<string>>>;

interface Batch {
  readonly names: Names;
  readonly found: Promise<ReadonlyMap<string, ArchivedMedia>>;
}

const batches = new WeakMap<Client, Batch>();

/**
 * Finds the copy of a task or a link. Lookups of the page at the same time share one request.
 *
 * @returns undefined if the proxy does not store a copy
 * @throws the errors of {@link getArchivedMedia}
 */
async function findCopy(client: Client, kind: keyof Names, name: string): Promise<ArchivedMedia | undefined> {
  const batch = batches.get(client) ?? openBatch(client);
  batch.names[kind].add(name);
  return (await batch.found).get(name);
}

/** Returns a file with the link to its copy. Without a copy, removes `storedUntil`. */
function applyCopy<File extends ExpiringLink>(file: File, copy: ArchivedMedia | undefined): File {
  const { storedUntil: _, ...gone } = file;
  if (!copy) return gone as File;
  const { url, expiresAt, storedUntil } = copy;
  return { ...file, url, expiresAt: Math.max(expiresAt, Date.now() + MIN_LIFE_MS), storedUntil };
}

function openBatch(client: Client): Batch {
  const names: Names = { tasks: new Set(), urls: new Set() };
  const found = client.clock.sleep(COLLECT_MS).then(() => {
    batches.delete(client);
    return getArchivedMedia(client, { tasks: [...names.tasks], urls: [...names.urls] });
  });
  const batch = { names, found };
  batches.set(client, batch);
  return batch;
}

/**
 * Returns the task with new links to the proxy's copies; without a copy, without `storedUntil`.
 *
 * @throws the errors of `getArchivedMedia`
 */
export async function renewTask(client: Client, task: SucceededVideoTask): Promise<SucceededVideoTask> {
  const copy = await findCopy(client, "tasks", task.id);
  const renewed = applyCopy(task, copy);
  if (!copy) return renewed;
  // without a copy of the last frame, its link has expired as well
  const { lastFrameURL: _, ...video } = renewed;
  return copy.lastFrame ? { ...video, lastFrameURL: copy.lastFrame.url } : video;
}

/**
 * Returns the files with expired links replaced by new links to the proxy's copies.
 *
 * @param getDueAt returns the time to renew a file, in Unix milliseconds
 * @throws the errors of `getArchivedMedia`
 */
export function renewURLs<File extends { readonly url?: string | undefined }>(
  client: Client,
  files: readonly File[],
  getDueAt: (file: File) => number,
): Promise<File[]> {
  return Promise.all(
    files.map(async (file) =>
      file.url !== undefined && getDueAt(file) <= Date.now()
        ? applyCopy(file as File & ExpiringLink, await findCopy(client, "urls", file.url))
        : file,
    ),
  );
}
