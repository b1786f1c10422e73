import type { AdmittedRequest } from "@sluice/worker-proxy/plugin";
import type { Bucket, StoredFile } from "../../buckets/bucket.js";
import { EXTENSIONS, type FileType } from "./file-type.js";
import type { Links } from "./links.js";
import { callStorage, refuseFile } from "./refusals.js";
import { toBucketKey } from "./store.js";

/**
 * Serves a file to everyone who has its link, because the gateway can't sign in.
 *
 * @throws {Refusal} 404 for a link with an invalid signature, an expired link or a missing file
 */
export async function serveFile<Env>(
  { request, signedId = "" }: AdmittedRequest<Env>,
  { bucket, links }: { readonly bucket: Bucket; readonly links: Links },
): Promise<Response> {
  const link = await links.verify(signedId);
  if (!link) throw refuseFile("file_not_found");
  const key = toBucketKey(link.id);
  const isHead = request.method === "HEAD";
  // validate the range here: for an invalid range, a bucket may return the whole file or fail
  const meta = isHead || request.headers.has("range") ? await callStorage(() => bucket.head(key)) : undefined;
  if (meta === null) throw refuseFile("file_not_found");
  const range = meta && !isHead ? readRange(request.headers, meta) : undefined;
  const rangeHeader = new Headers(range && { range: `bytes=${range.first}-${range.last}` });
  const file = isHead ? meta : await callStorage(() => bucket.get(key, { range: rangeHeader }));
  if (!file) throw refuseFile("file_not_found");
  const { size } = file;
  const headers = createHeaders(link.id, file, link.expiresAt);
  const body = file.body ?? null;
  if (!range) return new Response(body, { headers: { ...headers, "content-length": String(size) } });
  const { first, last } = range;
  const partHeaders = {
    "content-length": String(last - first + 1),
    "content-range": `bytes ${first}-${last}/${size}`,
  };
  return new Response(body, { status: 206, headers: { ...headers, ...partHeaders } });
}

/**
 * Returns the requested range of a file; undefined for the whole file. Several ranges, other units and invalid ranges
 * are ignored, as RFC 9110 allows.
 *
 * @throws {Refusal} 416 for a range beyond the end of the file
 */
function readRange(headers: Headers, { size, httpEtag }: StoredFile) {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/i.exec(headers.get("range") ?? "") ?? [];
  if ((from === "" && to === "") || (headers.get("if-range") ?? httpEtag) !== httpEtag) return undefined;
  if (from !== "" && to !== "" && Number(to) < Number(from)) return undefined;
  const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (first <= last) return { first, last };
  throw refuseFile("range", { headers: { "content-range": `bytes */${size}` } });
}

function createHeaders(id: string, { httpEtag, httpMetadata }: StoredFile, expiresAt: number) {
  const type = httpMetadata?.contentType ?? "";
  const extension = Object.hasOwn(EXTENSIONS, type) ? EXTENSIONS[type as FileType] : "bin";
  const isInline = /^(?:image|video|audio)\//.test(type);
  const seconds = Math.max(0, Math.floor((expiresAt - Date.now()) / 1000));
  return {
    "content-type": extension === "bin" ? "application/octet-stream" : type,
    "content-disposition": `${isInline ? "inline" : "attachment"}; filename="${id.slice(0, 8)}.${extension}"`,
    // a browser must run nothing, whatever type it detects
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": `private, max-age=${seconds}, immutable`,
    "accept-ranges": "bytes",
    etag: httpEtag,
  };
}
