import type { Client } from "@sluice/core";
import type { ExpiringLink } from "@sluice/core/internal";
import { type ArchivedMedia, getArchivedMedia } from "@sluice/core/internal/media";

/* Loaded where a link has run out, and the proxy keeps a copy. */

/** Time in which the names of a page are collected for one request, in milliseconds. */
const COLLECT_MS = 20;
/** Shortest life of a renewed link, for devices whose clock is ahead, in milliseconds. */
const LEAST_MS = 3_600_000;

type Names = Readonly<Record<"tasks" | "urls", Set<string>>>;

interface Batch {
  readonly names: Names;
  readonly found: Promise<ReadonlyMap<string, ArchivedMedia>>;
}

const batches = new WeakMap<Client, Batch>();

/**
 * Finds the copy of a task or of a link, together with the others that the page looks for at that time.
 *
 * @returns undefined where the proxy has none, or not any more
 * @throws the errors of {@link getArchivedMedia}
 */
export async function newestCopy(
  client: Client,
  kind: keyof Names,
  name: string,
): Promise<ArchivedMedia | undefined> {
  const batch = batches.get(client) ?? openBatch(client);
  batch.names[kind].add(name);
  return (await batch.found).get(name);
}

/** Returns a file with the link to its copy; without a copy, as one that is not kept. */
export function withCopy<File extends ExpiringLink>(file: File, copy: ArchivedMedia | undefined): File {
  const { keptUntil: _, ...gone } = file;
  if (!copy) return gone as File;
  const { url, expiresAt, keptUntil } = copy;
  return { ...file, url, expiresAt: Math.max(expiresAt, Date.now() + LEAST_MS), keptUntil };
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
