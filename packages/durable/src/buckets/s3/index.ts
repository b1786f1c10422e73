import { ensure } from "@sluice/worker-proxy/plugin";
import { type Bucket, checkKey, type StoredFile } from "../bucket.js";
import { cutPieces } from "../pieces.js";
import { openRequests, type S3Response } from "./requests.js";
import { S3Error } from "./s3-error.js";
import { openMultipart, PART_BYTES } from "./uploads.js";

/** Maximum number of concurrent delete requests. */
const MAX_AT_ONCE = 8;

/**
 * Stores files in a bucket with an S3 API: AWS, R2, MinIO and others. It needs `aws4fetch`, and runs wherever `fetch`
 * is available. It holds a file or a part in memory up to 8 MiB at a time. Each request is signed with the hash of its
 * bytes, so that the bucket rejects altered bytes. A request has up to four attempts after a 429 or 5xx.
 *
 * @throws {TypeError} when an option is missing or invalid; the message says how to fix it
 * @example
 * ```ts
 * import { s3Bucket } from "@sluice/durable/s3";
 *
 * const env = {
 *   MEDIA: s3Bucket({
 *     endpoint: "https://s3.eu-central-1.amazonaws.com",
 *     bucket: "media",
 *     region: "eu-central-1",
 *     accessKeyId: process.env["S3_ACCESS_KEY_ID"] ?? "",
 *     secretAccessKey: process.env["S3_SECRET_ACCESS_KEY"] ?? "",
 *   }),
 * };
 * ```
 */
export function s3Bucket(options: S3BucketOptions): Bucket {
  const ask = openRequests(checkOptions(options));
  const { createMultipartUpload, resumeMultipartUpload, sendPart } = openMultipart(ask);
  return { put, get, head, delete: remove, createMultipartUpload, resumeMultipartUpload };

  async function put(
    key: string,
    value: ReadableStream<Uint8Array>,
    options: Parameters<Bucket["put"]>[2],
  ): Promise<void> {
    checkKey(key);
    const pieces = cutPieces(value, PART_BYTES);
    try {
      const first = (await pieces.next()).value as Uint8Array;
      const second = first.byteLength < PART_BYTES ? undefined : await pieces.next();
      if (second?.value) return await putInParts(key, [first, second.value], pieces, options);
      const headers = { "content-type": options.httpMetadata.contentType };
      const { headers: said } = await ask({ method: "PUT", key, headers, body: first });
      if (!said.has("etag")) throw new Error("s3Bucket: the response has no etag of the file");
    } finally {
      await pieces.return(undefined);
    }
  }

  /**
   * Stores a large file as a multipart upload. A failure aborts the upload. If the process ends during the upload, a
   * lifecycle rule of the bucket must delete the parts.
   */
  async function putInParts(
    key: string,
    begin: readonly Uint8Array[],
    more: AsyncIterable<Uint8Array>,
    options: Parameters<Bucket["put"]>[2],
  ): Promise<void> {
    const upload = await createMultipartUpload(key, options);
    const parts = [];
    let size = 0;
    try {
      for await (const piece of joinPieces(begin, more)) {
        parts.push(await sendPart(key, upload.uploadId, parts.length + 1, piece));
        size += piece.byteLength;
      }
    } catch (error) {
      await upload.abort().catch(() => {});
      throw error;
    }
    try {
      await upload.complete(parts);
    } catch (error) {
      // the upload may be complete although its response was lost
      if ((await head(key))?.size === size) return;
      await upload.abort().catch(() => {});
      throw error;
    }
  }

  async function get(key: string, { range }: { range: Headers }): Promise<StoredFile | null> {
    checkKey(key);
    const asked = range.get("range");
    const headers = asked === null ? {} : { range: asked };
    const response = await ask({ method: "GET", key, headers }).catch(ignoreMissing);
    if (!response) return null;
    const [, size] = /^bytes \d+-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
    try {
      // a server that ignores the range would send the whole file as a part
      if (asked !== null && size === undefined) throw new Error("s3Bucket: the bucket gave no range");
      return { ...describeFile(response, size), body: response.body ?? new Blob([]).stream() };
    } catch (error) {
      await response.body?.cancel();
      throw error;
    }
  }

  async function head(key: string): Promise<StoredFile | null> {
    checkKey(key);
    const response = await ask({ method: "HEAD", key }).catch(ignoreMissing);
    return response ? describeFile(response) : null;
  }

  /** Deletes each file with a separate request. A bulk delete requires a checksum that some services do not support. */
  async function remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key);
    const left = [...keys];
    const work = Array.from({ length: MAX_AT_ONCE }, async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const response = await ask({ method: "DELETE", key }).catch(ignoreMissing);
        if (response?.text) throw new Error("s3Bucket: the response does not say that the file is deleted");
      }
    });
    const failed = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }
}

async function* joinPieces(first: readonly Uint8Array[], more: AsyncIterable<Uint8Array>) {
  yield* first;
  yield* more;
}

/**
 * Returns undefined for a missing file. Rethrows other errors, including a 404 of another server or for a missing
 * bucket.
 */
function ignoreMissing(error: unknown): undefined {
  const isGone = error instanceof S3Error && error.status === 404;
  // a HEAD response contains no error code
  if (!isGone || (error.code !== "NoSuchKey" && error.method !== "HEAD")) throw error;
  return undefined;
}

/** @throws {Error} for a response without an etag or a valid size, or with a content encoding */
function describeFile({ headers }: S3Response, whole?: string): StoredFile {
  const etag = headers.get("etag");
  const size = Number(whole ?? headers.get("content-length") ?? Number.NaN);
  if (!etag || !Number.isSafeInteger(size) || headers.has("content-encoding"))
    throw new Error("s3Bucket: the response has no etag or no size");
  const contentType = headers.get("content-type") ?? undefined;
  return { size, httpEtag: etag, httpMetadata: { contentType } };
}

/** Options of `s3Bucket`. */
export interface S3BucketOptions {
  /**
   * URL of the service, such as `https://s3.eu-central-1.amazonaws.com`. The bucket name is the first segment of the
   * path after it.
   */
  readonly endpoint: string;
  /** Name of the bucket. It needs no public access. */
  readonly bucket: string;
  /** Region of the bucket, `eu-central-1`; `auto` for R2. */
  readonly region: string;
  /** Access key of an account that can get, put, delete and list in this bucket only. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of a temporary key. @default none */
  readonly sessionToken?: string | undefined;
}

const KEY = /^[\x21-\x7e]+$/;
const RULES: readonly (readonly [keyof S3BucketOptions, RegExp, string])[] = [
  ["bucket", /^[\w.-]{3,63}$/, "give the name of the bucket alone"],
  ["region", /^[\w-]+$/, "give that of the bucket, or auto"],
  ["accessKeyId", KEY, "give the id of a key; is the variable set?"],
  ["secretAccessKey", KEY, "give the secret of a key; is the variable set?"],
  ["sessionToken", KEY, "give the token of a key"],
];

/**
 * @throws {TypeError} when an option is invalid. The message omits the value, which may be a secret in the wrong
 * option.
 */
function checkOptions(options: S3BucketOptions): S3BucketOptions {
  const url = URL.parse(options.endpoint);
  const isAddress = url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === "";
  ensure(isAddress, "s3Bucket: endpoint: give the address of the service, https://s3.example.com");
  for (const [name, rule, advice] of RULES) {
    const { [name]: value } = options;
    const isLeftOut = name === "sessionToken" && value === undefined;
    ensure(isLeftOut || rule.test(value ?? ""), `s3Bucket: ${name}: ${advice}`);
  }
  return { ...options, endpoint: url.href };
}
