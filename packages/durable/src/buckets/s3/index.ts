import { ensure } from "@sluice/worker-proxy/plugin";
import { type Bucket, checkKey, type MultipartUpload, type StoredFile } from "../bucket.js";
import { readBytes } from "../pieces.js";
import { createRequests, escapeText, findText, type S3Response } from "./requests.js";
import { S3Error } from "./s3-error.js";

/** Maximum number of concurrent delete requests. */
const MAX_CONCURRENT_DELETES = 8;

/**
 * Stores files in a bucket with an S3 API: AWS, R2, MinIO and others. It needs `aws4fetch`, and runs wherever `fetch`
 * is available. It holds each file or part of up to 8 MiB in memory while it is sent. Each request is signed with the
 * hash of its bytes, so that the bucket rejects altered bytes. A request has up to four attempts after a 429 or 5xx.
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
  const send = createRequests(checkOptions(options));
  return {
    async put(key, value, { httpMetadata: { contentType } }) {
      const headers = { "content-type": contentType };
      const response = await send({ method: "PUT", key, headers, body: await readBytes(value) });
      readETag(response);
    },
    async get(key, { range }) {
      const rangeHeader = range.get("range");
      const headers = rangeHeader === null ? {} : { range: rangeHeader };
      const response = await send({ method: "GET", key, headers }).catch(ignoreMissing);
      if (!response) return null;
      const [, size] = /^bytes \d+-\d+\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
      try {
        // a server that ignores the range would send the whole file as a part
        if (rangeHeader !== null && size === undefined)
          throw new Error("s3Bucket: the response has no range");
        return { ...describeFile(response, size), body: response.body ?? new Blob([]).stream() };
      } catch (error) {
        await response.body?.cancel();
        throw error;
      }
    },
    async head(key) {
      const response = await send({ method: "HEAD", key }).catch(ignoreMissing);
      return response ? describeFile(response) : null;
    },
    /** Deletes each file with a separate request. A bulk delete requires a checksum that some services do not support. */
    async delete(keys) {
      const remaining = [...keys];
      const workers = Array.from({ length: MAX_CONCURRENT_DELETES }, async () => {
        for (let key = remaining.pop(); key !== undefined; key = remaining.pop()) {
          const response = await send({ method: "DELETE", key }).catch(ignoreMissing);
          if (response?.text) throw new Error("s3Bucket: the response does not say that the file is deleted");
        }
      });
      const failed = (await Promise.allSettled(workers)).find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
    async createMultipartUpload(key, { httpMetadata: { contentType } }) {
      const headers = { "content-type": contentType };
      const { text } = await send({ method: "POST", key, query: { uploads: "" }, headers });
      const uploadId = findText(text, "UploadId");
      if (!uploadId) throw new Error("s3Bucket: the response has no id of an upload");
      return openUpload(key, uploadId);
    },
    resumeMultipartUpload: openUpload,
  };

  function openUpload(key: string, uploadId: string): MultipartUpload {
    checkKey(key);
    return {
      uploadId,
      async uploadPart(partNumber, value) {
        const query = { partNumber: String(partNumber), uploadId };
        const etag = readETag(await send({ method: "PUT", key, query, body: await readBytes(value) }));
        return { partNumber, etag: etag.replace(/^"|"$/g, "") };
      },
      /** Requires the element of a success, because S3 can send errors with status 200. */
      async complete(parts) {
        const list = parts.map(
          ({ partNumber, etag }) =>
            `<Part><PartNumber>${partNumber}</PartNumber><ETag>"${escapeText(etag)}"</ETag></Part>`,
        );
        const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join("")}</CompleteMultipartUpload>`;
        const headers = { "content-type": "application/xml" };
        const { text } = await send({ method: "POST", key, query: { uploadId }, headers, body });
        if (!text.includes("<CompleteMultipartUploadResult"))
          throw new Error("s3Bucket: the response does not say that the file is whole");
      },
      async abort() {
        await send({ method: "DELETE", key, query: { uploadId } }).catch((error: unknown) => {
          if (!(error instanceof S3Error) || error.code !== "NoSuchUpload") throw error;
        });
      },
    };
  }
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

/** @throws {Error} for a response without an etag, such as the page of another server */
function readETag({ headers }: S3Response): string {
  const etag = headers.get("etag");
  if (!etag) throw new Error("s3Bucket: the response has no etag");
  return etag;
}

/** @throws {Error} for a response without an etag or a valid size, or with a content encoding */
function describeFile(response: S3Response, wholeSize?: string): StoredFile {
  const { headers } = response;
  const size = Number(wholeSize ?? headers.get("content-length") ?? Number.NaN);
  if (!Number.isSafeInteger(size) || headers.has("content-encoding"))
    throw new Error("s3Bucket: the response has no size");
  const contentType = headers.get("content-type") ?? undefined;
  return { size, httpEtag: readETag(response), httpMetadata: { contentType } };
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
}

const CREDENTIAL = /^[\x21-\x7e]+$/;
const OPTION_RULES: readonly (readonly [keyof S3BucketOptions, RegExp, string])[] = [
  ["bucket", /^[\w.-]{3,63}$/, "give the name of the bucket alone"],
  ["region", /^[\w-]+$/, "give the region of the bucket, or auto"],
  ["accessKeyId", CREDENTIAL, "give the id of a key; is the variable set?"],
  ["secretAccessKey", CREDENTIAL, "give the secret of a key; is the variable set?"],
];

/**
 * @throws {TypeError} when an option is invalid. The message omits the value, which may be a secret in the wrong
 * option.
 */
function checkOptions(options: S3BucketOptions): S3BucketOptions {
  const url = URL.parse(options.endpoint);
  const hasExtras = url && (url.username || url.password || url.search);
  const isAddress = url && /^https?:$/.test(url.protocol) && !hasExtras;
  ensure(isAddress, "s3Bucket: endpoint: give the URL of the service, https://s3.example.com");
  for (const [name, rule, advice] of OPTION_RULES)
    ensure(rule.test(options[name] ?? ""), `s3Bucket: ${name}: ${advice}`);
  return { ...options, endpoint: url.href };
}
