import { type Bucket, checkKey, type MultipartUpload, type UploadedPart } from "../bucket.js";
import { bytesOf } from "./pieces.js";
import type { openRequests } from "./requests.js";
import { S3Error } from "./s3-error.js";
import { asText, textIn } from "./xml.js";

/** Size of the parts of a longer file, in bytes: S3 wants at least 5 MiB. */
export const PART_BYTES = 8_388_608;

/** Opens the uploads in parts of a bucket. */
export function openMultipart(ask: ReturnType<typeof openRequests>) {
  return { createMultipartUpload, resumeMultipartUpload, sendPart };

  async function createMultipartUpload(
    key: string,
    { httpMetadata: { contentType } }: Parameters<Bucket["createMultipartUpload"]>[1],
  ): Promise<MultipartUpload> {
    checkKey(key);
    const headers = { "content-type": contentType };
    // a second one would begin a second upload
    const { text } = await ask({ method: "POST", key, query: { uploads: "" }, headers, isRepeatable: false });
    const uploadId = textIn(text, "UploadId");
    if (!uploadId) throw new Error("s3Bucket: the answer has no id of an upload");
    return resumeMultipartUpload(key, uploadId);
  }

  function resumeMultipartUpload(key: string, uploadId: string): MultipartUpload {
    checkKey(key);
    return {
      uploadId,
      uploadPart: async (number, value) => await sendPart(key, uploadId, number, await bytesOf(value)),
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
    if (!etag) throw new Error("s3Bucket: the answer has no etag of the part");
    return { partNumber, etag };
  }

  /** Puts the parts together. A success is one only by its words: it may be 200 with an error, or a page. */
  async function complete(key: string, uploadId: string, parts: readonly UploadedPart[]): Promise<void> {
    const list = parts.map(
      ({ partNumber, etag }) =>
        `<Part><PartNumber>${partNumber}</PartNumber><ETag>"${asText(etag)}"</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${list.join("")}</CompleteMultipartUpload>`;
    const headers = { "content-type": "application/xml" };
    const { text } = await ask({ method: "POST", key, query: { uploadId }, headers, body });
    if (!text.includes("<CompleteMultipartUploadResult"))
      throw new Error("s3Bucket: the answer does not say that the file is whole");
  }
}
