import { type Client, type RecordStorage, type RequestOptions, ValidationError } from "@sluice/core";
import { reportStorageFailure } from "@sluice/core/internal";
import {
  addRouteAdvice,
  assertClient,
  closeExchange,
  openExchange,
  rejectOnAbort,
} from "@sluice/core/internal/media";
import type { MediaParser } from "../checks/container.js";
import type { MediaUse } from "../checks/limits.js";
import { PATH } from "./part-request.js";
import { sendFile } from "./send-file.js";
import type { UploadAtProxy } from "./upload-at-proxy.js";

/** Progress of an upload. */
export interface UploadProgress {
  /** Bytes that are stored. They grow by parts of 8 MiB. */
  readonly loadedBytes: number;
  /** Size of the file in bytes. */
  readonly totalBytes: number;
}

/** Options of {@link uploadMedia}. */
export interface UploadOptions {
  /** Aborts the upload. A later upload of the same file goes on where this one stood. */
  readonly signal?: AbortSignal | undefined;
  /** Called at the start, after each part, and the last time with `loadedBytes === totalBytes`. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Checks the file with `checkMedia` for this use, before anything is sent. @default no check */
  readonly use?: MediaUse | undefined;
  /** Measures a video or an audio file for `use`: `mediabunny` of `@sluice/media/mediabunny`. */
  readonly parser?: MediaParser | undefined;
  /** Headers added to the client's own. */
  readonly headers?: RequestOptions["headers"];
  /**
   * Keeps the id of the upload: after a reload of the page, the upload of the same `File` goes on where it stood. The
   * file is known by its name, size and date, and by a hash of its first and last 8 MiB; none of its bytes is kept. Needs
   * a page over https. @default the id is forgotten with the page
   */
  readonly storage?: RecordStorage | undefined;
}

/** A stored file. */
export interface UploadedMedia {
  /** Id of the file, for its owner. */
  readonly id: string;
  /** Public address of the file. It works for everyone who has it, until `expiresAt`. */
  readonly url: string;
  /** End of the address; Unix milliseconds. */
  readonly expiresAt: number;
  /** MIME type that the file's first bytes show. */
  readonly type?: string | undefined;
}

/** Time that an address has to work, so that the gateway can fetch it after it has waited. */
const VALID_MS = 3_600_000;

/** An upload of this page. */
interface PageUpload {
  /** The last state at the proxy; undefined before there is one. */
  state: UploadAtProxy | undefined;
  /** Settles when the calls so far have: two calls for one file send it once. Never rejects. */
  turn: Promise<unknown>;
}

/** Uploads of this page, so that a file is stored once. */
const uploads = new WeakMap<Client, WeakMap<Blob, PageUpload>>();

/**
 * Stores a file at the proxy, and returns an address that the gateway can fetch. Needs a proxy with `mediaStore` of
 * `@sluice/durable`.
 *
 * A file of more than 8 MiB is sent in parts. After a failure the upload goes on where it stood, up to 5 times in a row
 * without a newly stored part; `retry: { limit: 0 }` of the client switches that off. One call sends at most 3 times the
 * size of the file and 8 MiB. What is stored stays after an error: the next call for the same file goes on there. A file
 * that this page has uploaded is not sent again while its address works for an hour or more.
 *
 * Every error has the `billing` `none`: nothing was made or billed.
 *
 * @throws {ValidationError} if the file is empty, is no `Blob`, breaks a limit of `use`, or can no longer be read
 * @throws {ConfigurationError} if `headers` or `apiKey` reject, with their words
 * @throws {APIError} if the proxy refuses it: its type, its size, or the space of its user
 * @throws {ConnectionError} if the connection fails again and again, or the file would be sent too often
 * @throws {ResponseError} if the proxy's answers can't be read, or store nothing
 * @throws {TimeoutError} if a part takes longer than 10 minutes, twice in a row
 * @throws the reason of the signal after an abort
 * @example
 * ```ts
 * const { url } = await uploadMedia(client, clip, {
 *   use: "reference_video",
 *   parser: mediabunny,
 *   onProgress: ({ loadedBytes, totalBytes }) => show(loadedBytes / totalBytes),
 * });
 * ```
 */
export async function uploadMedia(
  client: Client,
  file: Blob,
  options: UploadOptions = {},
): Promise<UploadedMedia> {
  const { signal } = options;
  assertClient(client);
  await assertSendable(file, options);
  const upload = uploadOf(client, file);
  const mine = upload.turn.then(() => {
    signal?.throwIfAborted();
    return uploadNow(client, file, upload, options);
  });
  upload.turn = mine.catch(() => {});
  return rejectOnAbort(mine, signal);
}

async function assertSendable(file: Blob, { use, parser, signal }: UploadOptions) {
  const refused = (message: string) => new ValidationError([{ path: "", message, rule: "upload.file" }]);
  if (!(file instanceof Blob)) throw refused("give a Blob or a File");
  if (file.size === 0) throw refused("the file is empty");
  if (use === undefined) return;
  const { checkMedia } = await import("../checks/check-later.js");
  const issues = await checkMedia([{ media: file, use, path: "" }], { signal, parser });
  if (issues.length > 0) throw new ValidationError(issues);
}

function uploadOf(client: Client, file: Blob): PageUpload {
  const files = uploads.get(client) ?? new WeakMap<Blob, PageUpload>();
  uploads.set(client, files);
  const upload = files.get(file) ?? { state: undefined, turn: Promise.resolve() };
  files.set(file, upload);
  return upload;
}

async function uploadNow(
  client: Client,
  file: Blob,
  upload: PageUpload,
  { onProgress, signal, headers, storage }: UploadOptions,
): Promise<UploadedMedia> {
  const exchange = openExchange(client, { kind: "upload", path: PATH }, { signal });
  const show = (loadedBytes: number) => onProgress?.({ loadedBytes, totalBytes: file.size });
  try {
    const kept = storage && (await keptIn(client, storage, file, exchange.signal));
    upload.state ??= kept?.state;
    // an address that ends soon is renewed
    if (!(upload.state && isUsable(upload.state)))
      upload.state = await sendFile({ client, file, exchange, headers }, upload.state, {
        onProgress: show,
        onState(next) {
          upload.state = next;
          kept?.keep(next);
        },
      });
    show(file.size);
  } catch (error) {
    // after the first answer, a 404 is about the file
    if (!upload.state) addRouteAdvice(error, "its operator sets up `mediaStore` of @sluice/durable");
    closeExchange(client, exchange, {}, { error });
    throw error;
  }
  closeExchange(client, exchange, {});
  const { id, url = "", expiresAt = 0, type } = upload.state;
  return { id, url, expiresAt, type };
}

async function keptIn(client: Client, storage: RecordStorage, file: Blob, signal: AbortSignal) {
  // without this code, only a reload of the page loses the upload
  const loaded = await import("./kept-uploads.js").catch((error) => reportStorageFailure(client, error));
  return loaded?.openKeptUpload(client, storage, file, signal);
}

function isUsable({ url, expiresAt = 0 }: UploadAtProxy): boolean {
  return url !== undefined && expiresAt - Date.now() > VALID_MS;
}
