import { type Bucket, checkKey, type MultipartUpload, type UploadedPart } from "../bucket.js";
import { readBytes } from "../pieces.js";
import { escapeText, findText, type openRequests } from "./requests.js";
import { S3Error } from "./s3-error.js";

/** Size of the parts of a large file, in bytes. S3 requires at least 5 MiB. */
export const PART_BYTES = 8_388_608;

/** Creates the functions for multipart uploads. */
export function openMultipart(ask: ReturnType<typeof openRequests>) {
  return { createMultipartUpload, resumeMultipartUpload, sendPart };

  async function createMultipartUpload(
    key: string,
    { httpMetadata: { contentType } }: Parameters<Bucket["createMultipartUpload"]>[1],
  ): Promise<MultipartUpload> {
    checkKey(key);
    const headers = { "content-type": contentType };
    const { text } = await ask({ method: "POST", key, query: { uploads: "" }, headers });
    const uploadId = findText(text, "UploadId");
    if (!uploadId) throw new Error("s3Bucket: the response has no id of an upload");
    return resumeMultipartUpload(key, uploadId);
  }

  function resumeMultipartUpload(key: string, uploadId: string): MultipartUpload {
    checkKey(key);
    return {
      uploadId,
      uploadPart: async (number, value) => await sendPart(key, uploadId, number, await readBytes(value)),
      complete: (parts) => complete(key, uploadId, parts),
      async abort() {
        await ask({ method: "DELETE", key, query: { uploadId } }).catch((error: unknown) => {
          if (!(error instanceof S3Error) || error.code !== "NoSuchUpload") throw error;
        });
      },
    };
  }

  async function sendPart(
    key: string,
    uploadId: string,
    partNumber: number,
    body: Uint8Array,
  ): Promise<UploadedPart> {
    const query = { partNumber: String(partNumber), uploadId };
    const { headers } = await ask({ method: "PUT", key, query, body });
    const etag = headers.get("etag")?.replace(/^"|"$/g, "");
    if (!etag) throw new Error("s3Bucket: the response has no etag of the part");
    return { partNumber, etag };
  }

  /** Completes an upload. Status 200 alone does not confirm it, because S3 can also send errors with status 200. */
  async function complete(key: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const list = parts.map(
      ({ partNumber, etag }) =>
        `<Part><PartNumber>${partNumber}</PartNumber><ETag>"${escapeText(etag)}"</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join("")}</CompleteMultipartUpload>`;
    const headers = { "content-type": "application/xml" };
    const { text } = await ask({ method: "POST", key, query: { uploadId }, headers, body });
    if (!text.includes("<CompleteMultipartUploadResult"))
      throw new Error("s3Bucket: the response does not say that the file is whole");
  }
}
