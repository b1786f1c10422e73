import type { Meter, ProxyContext, Reservation, User } from "@sluice/worker-proxy";
import { decided, exhausted } from "@sluice/worker-proxy/internal";
import { type MediaBucket, removeFiles } from "./bucket.js";
import type { FileRow } from "./file-rows.js";
import { mediaRefusal } from "./refusals.js";
import type { NewFile, Space } from "./space.js";

/** The place of a user's files. */
export interface FilePlace<Env> {
  readonly env: Env;
  readonly context: ProxyContext | undefined;
  readonly user: User;
  readonly bucket: MediaBucket;
  readonly space: Space;
  readonly meter: Meter<Env> | undefined;
  /** The time for which a file is kept, for the meter. */
  readonly keepMs: number;
}

/**
 * Stores a file, once its price and its space are reserved. What was reserved is given back if that fails.
 *
 * @param put stores the bytes and returns the row of the file
 * @throws {Refusal} 429 where the user can't pay, 413 or 503 where there is no space, and those of `put`
 */
export async function putPaid<Env>(
  place: FilePlace<Env>,
  file: NewFile,
  put: () => Promise<FileRow>,
): Promise<FileRow> {
  const pay = await reserve(place, file.bytes);
  try {
    const known = await place.space.reserve(place.user.id, file, place.keepMs);
    const isNew = known.id === file.id;
    const row = isNew ? await put() : known;
    await (isNew ? pay?.settle(undefined) : pay?.release());
    return row;
  } catch (error) {
    try {
      await pay?.release();
    } finally {
      await discard(place, file.id);
    }
    throw error;
  }
}

/** @throws {Refusal} 429 where the user can't pay, 503 where the meter fails */
async function reserve<Env>(
  { env, context, user, meter, keepMs }: FilePlace<Env>,
  bytes: number,
): Promise<Reservation | undefined> {
  if (!meter) return undefined;
  const payable = { env, context, user, route: "media", body: { bytes, keepMs } } as const;
  const reserved = await decided("mediaStore: meter", "budget_unavailable", () => meter.reserve(payable));
  if ("retryAfterMs" in reserved) throw exhausted(reserved);
  return reserved;
}

/**
 * Deletes a file, and gives its space back. A file that its owner deleted while it was stored is deleted, too. Where this
 * is lost between two steps, an alarm of the index does the rest.
 *
 * @param isForGood true where the owner deletes it: a copy does not come back
 */
export async function discard(
  { user, bucket, space }: Pick<FilePlace<never>, "user" | "bucket" | "space">,
  id: string,
  isForGood = false,
): Promise<void> {
  const row = await space.drop(user.id, id, isForGood);
  const file = { id, uploadId: row?.uploadId ?? null };
  const { left, cause } = await removeFiles(bucket, [file]);
  if (left.size === 0) return await space.gone(user.id, id);
  await space.removeLater(user.id, file);
  throw mediaRefusal("media_unavailable", { problem: "media: the bucket failed", cause });
}

/** @throws {Refusal} 404 where the index has no such file any more */
export async function change(
  user: Pick<User, "id">,
  space: Space,
  request: Parameters<Space["ask"]>[1],
): Promise<FileRow> {
  const { file } = await space.ask(user.id, request);
  if (!file) throw mediaRefusal("file_not_found");
  return file;
}
