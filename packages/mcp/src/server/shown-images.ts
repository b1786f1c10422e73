import { open } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "@sluice/core";
import { fetchMedia, toDataURI } from "@sluice/media";
import type { Content, Result } from "../base/tool.js";

/** Maximum total size of the images in one result, in bytes. Hosts refuse results of more than about 1 MB. */
const MAX_BYTES = 750_000;
/** Maximum time to download all images of one result, in milliseconds. Images that are not ready by then stay links. */
const MAX_MS = 15_000;

/**
 * Adds the images of a result as content, so that the agent sees them. An image that is too large or unreadable stays a
 * link.
 */
export async function addImages(client: Client, result: Result, signal: AbortSignal): Promise<Result> {
  const content: Content[] = [];
  let remaining = MAX_BYTES;
  const endsAt = client.clock.now() + MAX_MS;
  for (const item of result.content) {
    content.push(item);
    if (item.type !== "resource_link") continue;
    const image = await readImage(client, item.uri, { maxBytes: remaining, endsAt, signal }).catch(
      () => undefined,
    );
    signal.throwIfAborted();
    if (!image) continue;
    remaining -= image.size;
    content.push({ type: "image", data: image.data, mimeType: image.mimeType });
  }
  return { ...result, content };
}

/** Limits of one image: its bytes, and the time at which its download ends. */
interface ReadLimits {
  readonly maxBytes: number;
  readonly endsAt: number;
  readonly signal: AbortSignal;
}

async function readImage(client: Client, uri: string, { maxBytes, endsAt, signal }: ReadLimits) {
  const isFile = uri.startsWith("file:");
  const totalMs = endsAt - client.clock.now();
  if (maxBytes <= 0 || (!isFile && totalMs <= 0)) return undefined;
  const blob = isFile
    ? await readFile(fileURLToPath(uri), maxBytes)
    : await fetchMedia(client, uri, { maxBytes, signal, timeout: { totalMs } });
  if (!blob) return undefined;
  const [, mimeType, data] = /^data:(image\/[\w.+-]+);base64,(.*)$/s.exec(await toDataURI(blob)) ?? [];
  return mimeType && data ? { mimeType, data, size: blob.size } : undefined;
}

async function readFile(path: string, maxBytes: number): Promise<Blob | undefined> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > maxBytes) return undefined;
    return new Blob([await file.readFile()]);
  } finally {
    await file.close();
  }
}
