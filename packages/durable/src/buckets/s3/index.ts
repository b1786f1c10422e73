import { type Bucket, checkKey, type ListedBucket, type ListOptions, type StoredFile } from "../bucket.js";
import { checkedOptions, type S3BucketOptions } from "./options.js";
import { piecesOf } from "./pieces.js";
import { openRequests, type S3Answer } from "./requests.js";
import { S3Error } from "./s3-error.js";
import { openMultipart, PART_BYTES } from "./uploads.js";
import { elementsIn, textIn } from "./xml.js";

export type { S3BucketOptions } from "./options.js";

/** Most files that are deleted at a time. */
const MOST_AT_ONCE = 8;

/**
 * Keeps files in a bucket of an S3 API: AWS, R2, MinIO and others. It needs `aws4fetch`, and runs wherever `fetch` does. A
 * file or a part is held in memory up to 8 MiB at a time and signed with the hash of its bytes, so that the bucket takes
 * no others. What is safe to repeat has four attempts.
 *
 * @throws {TypeError} when an option is missing or can't work; the message says what to give
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
export function s3Bucket(options: S3BucketOptions): ListedBucket {
  const ask = openRequests(checkedOptions(options));
  const { createMultipartUpload, resumeMultipartUpload, sendPart } = openMultipart(ask);
  return { put, get, head, delete: remove, list, createMultipartUpload, resumeMultipartUpload };

  async function put(
    key: string,
    value: ReadableStream<Uint8Array>,
    options: Parameters<Bucket["put"]>[2],
  ): Promise<void> {
    checkKey(key);
    const pieces = piecesOf(value, PART_BYTES);
    try {
      const first = (await pieces.next()).value as Uint8Array;
      const second = first.byteLength < PART_BYTES ? undefined : await pieces.next();
      if (second?.value) return await putInParts(key, [first, second.value], pieces, options);
      const headers = { "content-type": options.httpMetadata.contentType };
      const { headers: said } = await ask({ method: "PUT", key, headers, body: first });
      if (!said.has("etag")) throw new Error("s3Bucket: the answer has no etag of the file");
    } finally {
      await pieces.return(undefined);
    }
  }

  /** Stores a longer file. What fails leaves no part, unless the process ends: the bucket's rule deletes those. */
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
      for await (const piece of joined(begin, more)) {
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
      // it may be whole, and the answer that said it be lost
      if ((await head(key))?.size === size) return;
      await upload.abort().catch(() => {});
      throw error;
    }
  }

  async function get(key: string, { range }: { range: Headers }): Promise<StoredFile | null> {
    checkKey(key);
    const asked = range.get("range");
    const headers = asked === null ? {} : { range: asked };
    const answer = await ask({ method: "GET", key, headers }).catch(noFile);
    if (!answer) return null;
    const [, size] = /^bytes \d+-\d+\/(\d+)$/.exec(answer.headers.get("content-range") ?? "") ?? [];
    try {
      // the whole in place of a part would be passed on as that part
      if (asked !== null && size === undefined) throw new Error("s3Bucket: the bucket gave no range");
      return { ...factsOf(answer, size), body: answer.body ?? new Blob([]).stream() };
    } catch (error) {
      await answer.body?.cancel();
      throw error;
    }
  }

  async function head(key: string): Promise<StoredFile | null> {
    checkKey(key);
    const answer = await ask({ method: "HEAD", key }).catch(noFile);
    return answer ? factsOf(answer) : null;
  }

  /** Deletes files one by one: a list of them wants a sum that not every service takes. */
  async function remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key);
    const left = [...keys];
    const work = Array.from({ length: MOST_AT_ONCE }, async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        const answer = await ask({ method: "DELETE", key }).catch(noFile);
        if (answer?.text) throw new Error("s3Bucket: the answer does not say that the file is deleted");
      }
    });
    const failed = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async function list({ prefix = "", cursor, limit = 1000 }: ListOptions = {}) {
    const query = {
      "list-type": "2",
      "max-keys": String(limit),
      ...(prefix !== "" && { prefix }),
      ...(cursor !== undefined && { "continuation-token": cursor }),
    };
    const { text } = await ask({ method: "GET", query });
    const next = textIn(text, "NextContinuationToken");
    const truncated = textIn(text, "IsTruncated") === "true";
    if (!text.includes("<ListBucketResult") || (truncated && (!next || next === cursor)))
      throw new Error("s3Bucket: the answer is no list");
    const objects = elementsIn(text, "Contents").map((one) => ({
      key: textIn(one, "Key") ?? "",
      size: Number(textIn(one, "Size")),
    }));
    return { objects, truncated, cursor: truncated ? next : undefined };
  }
}

async function* joined(first: readonly Uint8Array[], more: AsyncIterable<Uint8Array>) {
  yield* first;
  yield* more;
}

/** Returns undefined for a file that is not there. A 404 of another server or of a missing bucket does not say so. */
function noFile(error: unknown): undefined {
  const isGone = error instanceof S3Error && error.status === 404;
  // the answer to a HEAD has no code
  if (!isGone || (error.code !== "NoSuchKey" && error.method !== "HEAD")) throw error;
  return undefined;
}

/** @throws {Error} for an answer that says not enough */
function factsOf({ headers }: S3Answer, whole?: string): StoredFile {
  const etag = headers.get("etag");
  const size = Number(whole ?? headers.get("content-length") ?? Number.NaN);
  if (!etag || !Number.isSafeInteger(size) || headers.has("content-encoding"))
    throw new Error("s3Bucket: the answer has no etag or no size");
  const contentType = headers.get("content-type") ?? undefined;
  return { size, httpEtag: etag, httpMetadata: { contentType } };
}
