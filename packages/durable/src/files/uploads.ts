import type { JobEvent, JobOutcome, User } from "@sluice/worker-proxy";
import { notifyOf, refusalIn, textOf } from "@sluice/worker-proxy/internal";
import { keyOf, type MediaBucket, type UploadedPart } from "./bucket.js";
import { type FileBody, openUpload } from "./file-body.js";
import type { FileRow } from "./file-rows.js";
import { typeOf } from "./file-type.js";
import type { FileRequest } from "./gates.js";
import { type Links, linkTo } from "./links.js";
import { MARGIN_MS, type MediaSettings, partMsOf } from "./options.js";
import { change, discard, putPaid } from "./paid-file.js";
import { mediaRefusal, stored } from "./refusals.js";
import type { NewFile, Space } from "./space.js";

/** Size of each part of an upload but the last, in bytes: R2 wants at least 5 MiB, and all alike. */
const PART_BYTES = 8_388_608;

/** Pause after which a part that another request sends is worth another look. */
const IN_FLIGHT = { "retry-after": "5" };

/** The parts of a store, for one request. */
export interface StoreParts {
  readonly bucket: MediaBucket;
  readonly links: Links;
  readonly space: Space;
}

/** Makes the routes of uploads. */
export function createUploads<Env>(
  settings: MediaSettings<Env>,
  partsOf: (file: FileRequest<Env>) => Promise<StoreParts>,
) {
  const { maxBytes, types, keepMs, bodyMs, meter } = settings;
  return { begin, goOn, read, remove, answerOf };

  /** Stores a file, or the first part of a longer one. */
  async function begin(asked: FileRequest<Env>): Promise<Response> {
    const startedAt = Date.now();
    const user = await asked.signIn();
    const { bucket, links, space } = await partsOf(asked);
    const body = openUpload(asked.request, bodyMs);
    const bytes = bytesIn(asked.request, "upload-length", 1, body.length);
    try {
      if (bytes > maxBytes) throw mediaRefusal("file_too_large", { what: maxBytes });
      const isWhole = bytes === body.length;
      if (!isWhole && (body.length !== PART_BYTES || bytes < PART_BYTES))
        throw mediaRefusal("part_size", { what: Math.min(bytes, PART_BYTES) });
      const type = typeOf(await body.head());
      if (!type || !types.includes(type)) throw mediaRefusal("file_type", { what: types.join(", ") });
      const id = await links.newId(user.id);
      const { env, context } = asked;
      const place = { env, context, user, bucket, space, meter, keepMs };
      const file = { id, bytes, type, expiresAt: Date.now() + bodyMs + MARGIN_MS, startedAt };
      const put = isWhole ? putWhole : putFirst;
      const row = await putPaid(place, file, () => put(place, body, file)).catch((error: unknown) => {
        report(env, user, file, "failed", { code: textOf(refusalIn(error)).code });
        throw error;
      });
      if (isWhole) report(env, user, row, "complete");
      return Response.json(await answerOf(asked, links, row), { status: 201 });
    } finally {
      body.cancel();
    }
  }

  /** Stores the next part; the last one completes the file. */
  async function goOn(asked: FileRequest<Env>): Promise<Response> {
    const user = await asked.signIn();
    const { bucket, links, space } = await partsOf(asked);
    const offset = bytesIn(asked.request, "upload-offset", 0);
    const row = await claimed(asked, user, links, space, offset);
    const place = { user, bucket, space };
    try {
      const now = offset < row.bytes ? await putPart(place, asked.request, row) : row;
      const isLast = now.received === now.bytes && !now.isWhole;
      const whole = isLast ? await complete(place, now) : now;
      if (isLast) report(asked.env, user, whole, "complete");
      return Response.json(await answerOf(asked, links, whole));
    } catch (error) {
      // where this fails, too, the claim ends by itself
      const release = { do: "release", id: row.id, claim: row.claimed } as const;
      await space.ask(user.id, release).catch(() => {});
      throw error;
    }
  }

  /** Stores the part that a request has claimed. */
  async function putPart({ user, bucket, space }: Place, request: Request, row: FileRow): Promise<FileRow> {
    const { id, received: from, claimed: claim } = row;
    const uploadId = row.uploadId as string;
    const to = Math.min(row.bytes, from + PART_BYTES);
    const body = openUpload(request, partMsOf(settings));
    try {
      if (body.length !== to - from) throw mediaRefusal("part_size", { what: to - from });
      const upload = bucket.resumeMultipartUpload(keyOf(id), uploadId);
      const known = JSON.parse(row.parts) as readonly UploadedPart[];
      // a part that is stored, and could not be noted, is replaced by the next attempt
      const next = (known.at(-1)?.partNumber ?? 0) + 1;
      const { partNumber, etag } = await body.through((content) =>
        upload.uploadPart(next, content).catch((error: unknown) => overtaken({ user, space }, id, error)),
      );
      const part = { partNumber, etag };
      return await change(user, space, { do: "part", id, claim, part, uploadId, from, to });
    } finally {
      body.cancel();
    }
  }

  /** Reports how far an upload is; a whole file gets a new link. */
  async function read(asked: FileRequest<Env>): Promise<Response> {
    const user = await asked.signIn();
    const { links, space } = await partsOf(asked);
    return Response.json(await answerOf(asked, links, await rowOf(asked, user, links, space)));
  }

  /** Deletes a file, or an upload that is not whole. */
  async function remove(asked: FileRequest<Env>): Promise<Response> {
    const user = await asked.signIn();
    const { bucket, links, space } = await partsOf(asked);
    const row = await rowOf(asked, user, links, space);
    await discard({ user, bucket, space }, row.id, true);
    // that of a copy is reported by the object that makes it
    if (!row.isWhole && !row.isCopy) report(asked.env, user, row, "stopped");
    return new Response(null, { status: 204 });
  }

  function report(
    env: Env,
    { id: user }: User,
    { id, bytes }: Pick<FileRow, "id" | "bytes">,
    outcome: JobOutcome,
    why: Pick<JobEvent, "code"> = {},
  ): void {
    notifyOf(settings.onEvent, { kind: "upload", id, outcome, user, bytes, ...why }, env);
  }

  /** Returns the state of an upload as the client sees it. */
  async function answerOf(asked: FileRequest<Env>, links: Links, row: FileRow) {
    const { id, bytes, received, type } = row;
    const state = { id, bytes, offset: received, partBytes: PART_BYTES };
    if (!row.isWhole) return { ...state, expiresAt: row.expiresAt };
    const link = await linkTo(row, links, settings, asked);
    return { ...state, type, ...link };
  }
}

type Place = Pick<StoreParts, "bucket" | "space"> & { readonly user: Pick<User, "id"> };
type Begun = Pick<NewFile, "id" | "type">;

/** Stores a file whose whole body is there. */
export async function putWhole({ user, bucket, space }: Place, body: FileBody, { id, type }: Begun) {
  await body.through((content) => bucket.put(keyOf(id), content, { httpMetadata: { contentType: type } }));
  return await change(user, space, { do: "whole", id });
}

async function putFirst({ user, bucket, space }: Place, body: FileBody, { id, type }: Begun) {
  const options = { httpMetadata: { contentType: type } };
  const upload = await stored(() => bucket.createMultipartUpload(keyOf(id), options));
  const { uploadId } = upload;
  // before it has a part: whatever happens, its parts can be found and ended. R2 ends an empty one after 7 days
  await change(user, space, { do: "begin", id, uploadId });
  const { partNumber, etag } = await body.through((content) =>
    upload.uploadPart(1, content).catch((error: unknown) => overtaken({ user, space }, id, error)),
  );
  const part = { partNumber, etag };
  return await change(user, space, { do: "part", id, claim: 1, part, uploadId, from: 0, to: PART_BYTES });
}

/** @throws {Refusal} 404 or 409 where the upload has ended without this part; else what the bucket failed with */
async function overtaken({ user, space }: Omit<Place, "bucket">, id: string, error: unknown): Promise<never> {
  const { isWhole, received } = await change(user, space, { do: "read", id });
  throw isWhole ? mediaRefusal("upload_offset", { what: received }) : error;
}

/** Puts the parts together. Where an earlier request did so and was cut before it could say it, the file is there. */
async function complete({ user, bucket, space }: Place, row: FileRow): Promise<FileRow> {
  const upload = bucket.resumeMultipartUpload(keyOf(row.id), row.uploadId as string);
  await stored(async () => {
    try {
      await upload.complete(JSON.parse(row.parts));
    } catch (error) {
      const file = await bucket.head(keyOf(row.id));
      if (file?.size !== row.bytes) await overtaken({ user, space }, row.id, error);
    }
  });
  return await change(user, space, { do: "whole", id: row.id });
}

/**
 * Claims the part at an offset. One request at a time stores a part, so that the bucket has no more than is counted.
 *
 * @throws {Refusal} 404 as {@link rowOf}; 409 for another offset, and while another request sends this part
 */
async function claimed<Env>(
  { sentId }: FileRequest<Env>,
  user: User,
  links: Links,
  space: Space,
  from: number,
): Promise<FileRow> {
  if (!(await links.isOwn(sentId, user.id))) throw mediaRefusal("file_not_found");
  const { file, isClaimed } = await space.ask(user.id, { do: "claim", id: sentId, from });
  if (!file || file.expiresAt <= Date.now()) throw mediaRefusal("file_not_found");
  if (isClaimed) return file;
  if (file.isWhole || file.received !== from) throw mediaRefusal("upload_offset", { what: file.received });
  throw mediaRefusal("upload_in_flight", { headers: IN_FLIGHT });
}

/** @throws {Refusal} 404 for an id that was not made for this user */
async function rowOf<Env>(
  { sentId }: FileRequest<Env>,
  user: User,
  links: Links,
  space: Space,
): Promise<FileRow> {
  // before the index is asked, which would make an object for each id that is tried
  if (!(await links.isOwn(sentId, user.id))) throw mediaRefusal("file_not_found");
  const row = await change(user, space, { do: "read", id: sentId });
  if (row.expiresAt <= Date.now()) throw mediaRefusal("file_not_found");
  return row;
}

/** @throws {Refusal} 400 for a header that is no number of bytes, or is missing and has no `usual` */
function bytesIn({ headers }: Request, name: string, least: number, usual?: number): number {
  const text = headers.get(name);
  if (text === null && usual !== undefined) return usual;
  if (!/^\d{1,15}$/.test(text ?? "") || Number(text) < least)
    throw mediaRefusal("bytes_header", { what: name });
  return Number(text);
}
