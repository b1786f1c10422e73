import type { Meter } from "@sluice/worker-proxy";
import { ensure, Refusal, readOption, textOf } from "@sluice/worker-proxy/internal";
import type { MediaBucket } from "../files/bucket.js";
import { openFile } from "../files/file-body.js";
import type { CopyRow, FileRow } from "../files/file-rows.js";
import { typeOf } from "../files/file-type.js";
import { type ArchiveSettings, MARGIN_MS, type MediaSettings } from "../files/options.js";
import { discard, putPaid } from "../files/paid-file.js";
import { mediaRefusal } from "../files/refusals.js";
import type { Space } from "../files/space.js";
import { putWhole } from "../files/uploads.js";
import { fetchSource } from "./source.js";

/** A file whose host does not say its length is held in memory while it is copied: an object has 128 MB. */
const MOST_IN_MEMORY = 33_554_432;

/** Most attempts at one file. */
export const MOST_ATTEMPTS = 5;

/** The parts of a copy. */
export interface CopyPlace<Env> {
  readonly env: Env;
  readonly bucket: MediaBucket;
  readonly space: Space;
  readonly settings: MediaSettings<Env>;
  readonly archive: ArchiveSettings<Env>;
  /** Notes if the file is paid for. */
  readonly notePaid: (isPaid: boolean) => void;
}

/**
 * Copies one file of the gateway's into the bucket, in the space of its user.
 *
 * @returns the copy; undefined where its owner has deleted it
 * @throws {Refusal} the reason; `isHopeless` tells if another attempt may succeed
 */
export async function copyFile<Env>(job: CopyRow, place: CopyPlace<Env>): Promise<FileRow | undefined> {
  const { env, bucket, space, settings, archive } = place;
  const { id, userId, source } = job;
  const user = { id: userId };
  const startedAt = Date.now();
  if (job.attempts > 1) {
    // an attempt that was cut may have stored the file, and its owner may have deleted it since
    const { file } = await space.ask(userId, { do: "read", id });
    if (file?.isWhole) return file;
    await discard({ user, bucket, space }, id);
    if (job.url === "") return undefined;
    if (job.attempts > MOST_ATTEMPTS) throw mediaRefusal("copy_cut");
  }
  const signal = AbortSignal.timeout(archive.copyMs);
  const response = await fetchSource(job.url, await hostsOf(archive, env), signal);
  const body = await fileIn(response, archive.maxBytes, signal);
  try {
    const type = typeOf(await body.head());
    if (!type || !/^(?:image|video)\//.test(type))
      throw mediaRefusal("file_type", { what: "no picture or film" });
    const meter = settings.meter && !job.isPaid ? paidOnce(settings.meter, place.notePaid) : undefined;
    const { keepMs } = archive;
    const expiresAt = Date.now() + archive.copyMs + MARGIN_MS;
    const file = { id, bytes: body.length, type, expiresAt, source, startedAt };
    const paid = { env, context: undefined, user, bucket, space, meter, keepMs };
    return await putPaid(paid, file, () => putWhole(paid, body, file));
  } finally {
    body.cancel();
  }
}

/** A meter that one attempt asks. What is reserved when an eviction cuts the attempt off stays so, and is spent. */
function paidOnce<Env>(meter: Meter<Env>, note: CopyPlace<Env>["notePaid"]): Meter<Env> {
  return {
    async reserve(payable) {
      // first: it is better not to pay than to pay twice
      note(true);
      const reserved = await meter.reserve(payable).catch((error: unknown) => {
        note(false);
        throw error;
      });
      if ("retryAfterMs" in reserved) {
        note(false);
        return reserved;
      }
      return {
        settle: (usage) => reserved.settle(usage),
        async release() {
          await reserved.release();
          note(false);
        },
      };
    },
  };
}

/**
 * Reads the hosts that files are copied from; undefined for every public one.
 *
 * @throws {Refusal} 500 `misconfigured` for a list that is missing, or has what is no host
 */
export async function hostsOf<Env>({ hosts }: Pick<ArchiveSettings<Env>, "hosts">, env: Env) {
  if (hosts === undefined) return undefined;
  const read = typeof hosts === "function" ? hosts : () => hosts;
  return await readOption("mediaStore: archive: hosts", read, env, (list) => {
    // a list that is missing would allow every host
    ensure(Array.isArray(list), "mediaStore: archive: hosts: give a list of hosts");
    for (const host of list)
      ensure(
        isHost(host),
        "mediaStore: archive: hosts: give hosts alone, cdn.example.com or *.example.com, without https:// and a path",
      );
    return list as readonly string[];
  });
}

/** Returns true for a host as addresses write it: a name or a number, with or without a port. */
function isHost(given: unknown): boolean {
  if (typeof given !== "string") return false;
  const host = given.toLowerCase().replace(/^\*\.(?=.)/, "");
  return !host.includes("*") && URL.parse(`https://${host}`)?.host === host.replace(/:443$/, "");
}

/** @throws {Refusal} 413 for a file that is too large, 502 for an empty one */
async function fileIn({ body, headers }: Response, maxBytes: number, signal: AbortSignal) {
  const content = body as ReadableStream<Uint8Array>;
  const length = headers.has("content-encoding") ? null : headers.get("content-length");
  if (length === null) {
    const bytes = await bytesOf(content, Math.min(maxBytes, MOST_IN_MEMORY), signal);
    return openFile(bytes.stream(), bytes.size, signal);
  }
  if (Number(length) > maxBytes) {
    await content.cancel();
    throw mediaRefusal("file_too_large", { what: maxBytes });
  }
  if (!(Number(length) > 0)) throw mediaRefusal("source_failed", { what: "it is empty" });
  return openFile(content, Number(length), signal);
}

/** Reads a body whose length is not known. */
async function bytesOf(body: ReadableStream<Uint8Array>, most: number, signal: AbortSignal): Promise<Blob> {
  const pieces: BlobPart[] = [];
  let size = 0;
  const counted = new WritableStream<Uint8Array>({
    write(piece) {
      size += piece.byteLength;
      if (size > most) throw mediaRefusal("file_too_large", { what: most });
      pieces.push(piece as Uint8Array<ArrayBuffer>);
    },
  });
  await body.pipeTo(counted, { signal }).catch((cause: unknown) => {
    throw cause instanceof Refusal ? cause : mediaRefusal("upload_cut", { cause });
  });
  if (size === 0) throw mediaRefusal("source_failed", { what: "it is empty" });
  return new Blob(pieces);
}

/** Returns true for a refusal that says nothing about the file: there is no space for it yet. */
export function isNoSpace(refusal: Refusal): boolean {
  return ["storage_full", "too_many_files"].includes(textOf(refusal).code);
}

/** Returns true for a refusal after which another attempt would end the same way. */
export function isHopeless(refusal: Refusal): boolean {
  return [403, 413, 415].includes(textOf(refusal).status);
}
