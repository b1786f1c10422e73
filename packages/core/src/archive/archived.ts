import type { Client } from "../client.js";
import { excerpt, isRecord, parseJSON } from "../transport/error-response.js";
import { addRouteAdvice } from "../transport/failure.js";
import { failureCode } from "../transport/failure-code.js";
import { readText } from "../transport/read-body.js";
import { closeExchange, openExchange, type RequestOptions, send } from "../transport/send.js";
import { ResponseError } from "../types/errors.js";

/** Copies to look up. */
export interface ArchivedMediaQuery {
  /** Ids of video tasks. @default none */
  readonly tasks?: readonly string[] | undefined;
  /** Links to images, as the gateway or the archive gave them; they may have expired. @default none */
  readonly urls?: readonly string[] | undefined;
}

/** A copy of a video or an image that the proxy stores. */
export interface ArchivedMedia {
  /** Id of the copy, for its owner. */
  readonly id: string;
  /** New address of the copy. It works for everyone who has it, until `expiresAt`. */
  readonly url: string;
  /** Time at which the address expires; Unix milliseconds. */
  readonly expiresAt: number;
  /** Time at which the proxy deletes the copy; Unix milliseconds. */
  readonly storedUntil: number;
  /** MIME type of the copy, detected from its first bytes. */
  readonly type: string;
  /** Size of the copy in bytes. */
  readonly bytes: number;
  /** Copy of the video's last frame; absent without one. */
  readonly lastFrame?: ArchivedMedia;
}

const PATH = "/v1/archive";
const FIRST_CHUNK_MS = 60_000;
/** Largest number of names in one request. */
const MAX_NAMES = 100;

/**
 * Gets new links to the copies that a proxy stores of videos and images, by task id or by earlier link. Sends nothing
 * to the gateway. Needs a proxy with `archive` of `@sluice/durable`.
 *
 * @returns the copies by the given ids and links. Entries without a copy are missing: the copy is pending, deleted or
 * was never stored
 * @throws {APIError} if the proxy refuses, or runs without an archive
 * @throws {ConnectionError} | {TimeoutError} | {ResponseError} as everywhere
 * @example
 * ```ts
 * const original = "https://cdn.example.com/reef.png";
 * const copies = await getArchivedMedia(client, { urls: [original] });
 * show(copies.get(original)?.url ?? original);
 * ```
 */
export async function getArchivedMedia(
  client: Client,
  { tasks = [], urls = [] }: ArchivedMediaQuery,
  options: RequestOptions = {},
): Promise<ReadonlyMap<string, ArchivedMedia>> {
  const names = [...tasks, ...urls];
  const copies = new Map<string, ArchivedMedia>();
  for (let start = 0; start < names.length; start += MAX_NAMES) {
    const end = start + MAX_NAMES;
    const body = {
      tasks: tasks.slice(start, end),
      urls: urls.slice(Math.max(0, start - tasks.length), Math.max(0, end - tasks.length)),
    };
    for (const { name, ...copy } of await requestFiles(client, body, options)) copies.set(name, copy);
  }
  return copies;
}

type NamedCopy = ArchivedMedia & { readonly name: string };

/** Sends one request. Does not use `requestRecord`: if a second chunk needed it, every page would load more. */
async function requestFiles(
  client: Client,
  body: object,
  options: RequestOptions,
): Promise<readonly NamedCopy[]> {
  const call = { kind: "archive", method: "post", path: PATH, body: () => body } as const;
  const exchange = openExchange(client, { ...call, firstChunkMs: FIRST_CHUNK_MS }, options);
  let files: readonly NamedCopy[];
  try {
    const response = await send(client, exchange, { ...call, headers: options.headers, failureCode });
    files = parseFiles(client.scrub(await readText(client, exchange, response)));
  } catch (error) {
    addRouteAdvice(error, "its operator sets `archive` of `fileStore()` of @sluice/durable");
    closeExchange(client, exchange, {}, { error });
    throw error;
  }
  closeExchange(client, exchange, {});
  return files;
}

function parseFiles(text: string): readonly NamedCopy[] {
  const json = parseJSON(text);
  const files = isRecord(json) ? json.files : undefined;
  if (Array.isArray(files) && files.every(isNamedCopy)) return files;
  throw new ResponseError("the response of the archive has no files", { path: "files", body: excerpt(text) });
}

function isNamedCopy(file: unknown): file is NamedCopy {
  return isCopy(file) && typeof (file as NamedCopy).name === "string";
}

function isCopy(file: unknown): boolean {
  if (!isRecord(file)) return false;
  const { id, url, type, expiresAt, storedUntil, bytes, lastFrame } = file;
  return (
    [id, url, type].every((text) => typeof text === "string") &&
    [expiresAt, storedUntil, bytes].every(Number.isFinite) &&
    (lastFrame === undefined || isCopy(lastFrame))
  );
}
