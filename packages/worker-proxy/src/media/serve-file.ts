import { keyOf, type MediaBucket, type StoredFile } from "./bucket.js";
import { type FileType, fileTypes } from "./file-type.js";
import type { FileRequest } from "./gates.js";
import type { Links } from "./links.js";
import { mediaRefusal, stored } from "./refusals.js";

/**
 * Answers a link, to everyone who has it: the gateway has no sign-in.
 *
 * @throws {Refusal} 404 for a link that was not made here, has expired, or whose file is gone
 */
export async function serveFile<Env>(
  { request, sentId }: FileRequest<Env>,
  { bucket, links }: { readonly bucket: MediaBucket; readonly links: Links },
): Promise<Response> {
  const known = await links.verify(sentId);
  if (!known) throw mediaRefusal("file_not_found");
  const key = keyOf(known.id);
  const isHead = request.method === "HEAD";
  const conditions = conditionsOf(request.headers);
  const file = await stored(() => (isHead ? bucket.head(key) : found(bucket, key, conditions)));
  if (!file) throw mediaRefusal("file_not_found");
  const headers = headersOf(known.id, file, known.expiresAt);
  if (isHead) return new Response(null, { headers: { ...headers, "content-length": String(file.size) } });
  if (!file.body) return new Response(null, { status: request.headers.has("if-match") ? 412 : 304, headers });
  const part = request.headers.has("range") ? partOf(file) : undefined;
  if (!part) return new Response(file.body, { headers: { ...headers, "content-length": String(file.size) } });
  const last = part.offset + part.length - 1;
  return new Response(file.body, {
    status: 206,
    headers: {
      ...headers,
      "content-length": String(part.length),
      "content-range": `bytes ${part.offset}-${last}/${file.size}`,
    },
  });
}

/** @throws {Refusal} 416 for a range that begins beyond the end */
async function found(bucket: MediaBucket, key: string, conditions: Headers): Promise<StoredFile | null> {
  const [, start] = /^bytes=(\d+)/.exec(conditions.get("range") ?? "") ?? [];
  if (start !== undefined) {
    // the bucket would give the whole file, or fail
    const file = await bucket.head(key);
    const headers = { "content-range": `bytes */${file?.size}` };
    if (file && Number(start) >= file.size) throw mediaRefusal("range", { headers });
  }
  return await bucket.get(key, { range: conditions, onlyIf: conditions });
}

/** Returns the headers that the bucket decides by; a range that it would not understand is left out. */
function conditionsOf(headers: Headers): Headers {
  const names = ["if-match", "if-none-match"];
  const range = headers.get("range") ?? "";
  const kept = new Headers();
  for (const name of names) if (headers.has(name)) kept.set(name, headers.get(name) as string);
  if (/^bytes=(?:\d+-\d*|-\d+)$/.test(range)) kept.set("range", range);
  return kept;
}

function headersOf(id: string, { httpEtag, httpMetadata }: StoredFile, expiresAt: number) {
  const type = httpMetadata?.contentType ?? "";
  const extension = Object.hasOwn(fileTypes, type) ? fileTypes[type as FileType] : "bin";
  const isShown = /^(?:image|video|audio)\//.test(type);
  const seconds = Math.max(0, Math.floor((expiresAt - Date.now()) / 1000));
  return {
    "content-type": extension === "bin" ? "application/octet-stream" : type,
    "content-disposition": `${isShown ? "inline" : "attachment"}; filename="${id.slice(0, 8)}.${extension}"`,
    // whatever a browser may take it for, it runs nothing
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": `private, max-age=${seconds}, immutable`,
    "accept-ranges": "bytes",
    etag: httpEtag,
  };
}

function partOf({
  range,
  size,
}: StoredFile): { readonly offset: number; readonly length: number } | undefined {
  if (!range) return undefined;
  const length = Math.min(range.suffix ?? range.length ?? size, size);
  const offset = range.offset ?? (range.suffix === undefined ? 0 : size - length);
  return { offset, length: Math.min(length, size - offset) };
}
