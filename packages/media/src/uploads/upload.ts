import { type Client, type RecordStorage, type RequestOptions, ValidationError } from "@sluice/core";
import { noteOptions, openCall, rejectOnAbort } from "@sluice/core/extend";
import { reportStorageFailure } from "@sluice/stores/extend";
import type { MediaParser } from "../checks/container.js";
import type { MediaUse } from "../checks/limits.js";
import { UPLOADS_PATH } from "./part-request.js";
import { sendFile } from "./send-file.js";
import { isClosedRoute, type UploadAtProxy } from "./upload-at-proxy.js";

/** Progress of an upload. */
export interface UploadProgress {
  /** Stored bytes, in steps of 8 MiB. */
  readonly loadedBytes: number;
  /** Size of the file in bytes. */
  readonly totalBytes: number;
}

/** Options of {@link uploadMedia}. */
export interface UploadOptions {
  /** Aborts the upload. A later upload of the same file continues it. */
  readonly signal?: AbortSignal | undefined;
  /** Runs at the start, after each part, and at the end with `loadedBytes === totalBytes`. */
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Checks the file with `checkMedia` for this use before anything is sent. @default no check */
  readonly use?: MediaUse | undefined;
  /** Measures a video or an audio file for `use`: `mediabunny` of `@sluice/media/mediabunny`. */
  readonly parser?: MediaParser | undefined;
  /** Headers added to the client's own. */
  readonly headers?: RequestOptions["headers"];
  /**
   * Stores the id of the upload: after a reload of the page, the upload of the same `File` continues. The file is
   * identified by its name, size and date, and by a hash of its first and last 8 MiB. No bytes of the file are stored.
   * Needs a page over https. @default the id is lost with the page
   */
  readonly storage?: RecordStorage | undefined;
}

/** A stored file. */
export interface UploadedMedia {
  /** Id of the file, for its owner. */
  readonly id: string;
  /** Public URL of the file, for everyone who has it. Valid until `expiresAt`. */
  readonly url: string;
  /** End of the URL, in Unix milliseconds. */
  readonly expiresAt: number;
  /** MIME type from the file's first bytes. */
  readonly type?: string | undefined;
}

/** Minimum remaining lifetime of a URL, so that the gateway can fetch it after a wait in its queue. */
const VALID_MS = 3_600_000;

/** An upload of this page. */
interface PageUpload {
  /** The last state at the proxy. Undefined until the first response. */
  state: UploadAtProxy | undefined;
  /** Resolves after all calls so far: two calls for one file send it once. */
  lastCall: Promise<unknown>;
}

/** Uploads of this page. A file is uploaded once. */
const uploads = new WeakMap<Client, WeakMap<Blob, PageUpload>>();

/**
 * Stores a file at the proxy, and returns a URL that the gateway can fetch. Needs a proxy with `fileStore()` of
 * `@sluice/durable`.
 *
 * A file of more than 8 MiB is sent in parts. After a failure the upload continues at the last stored byte, up to 5
 * times in a row without a newly stored part; `retry: { limit: 0 }` of the client disables that. One call sends at most
 * 3 times the size of the file and 8 MiB. Stored bytes remain after an error: the next call for the same file continues
 * there. This page does not send a file again while its URL is valid for an hour or more.
 *
 * Every error has the `billing` `none`: nothing was made or billed.
 *
 * @throws {ValidationError} if the file is empty, not a `Blob`, breaks a limit of `use`, or can no longer be read
 * @throws {ConfigurationError} if `headers` or `apiKey` reject; has the message of that error
 * @throws {APIError} if the proxy refuses the file: its type, its size, or the space of its user
 * @throws {ConnectionError} if the connection fails repeatedly, or the file would be sent too often
 * @throws {ResponseError} if the proxy's responses can't be read, or store nothing
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
  noteOptions("uploadMedia", options, client);
  await assertSendable(file, options);
  const upload = getUpload(client, file);
  const uploaded = upload.lastCall.then(() => {
    signal?.throwIfAborted();
    return uploadNow(client, file, upload, options);
  });
  upload.lastCall = uploaded.catch(() => {});
  return rejectOnAbort(uploaded, signal);
}

async function assertSendable(file: Blob, { use, parser, signal }: UploadOptions) {
  const createRefusal = (message: string) =>
    new ValidationError([{ path: "", message, rule: "upload.file" }]);
  if (!(file instanceof Blob)) throw createRefusal("give a Blob or a File");
  if (file.size === 0) throw createRefusal("the file is empty");
  if (use === undefined) return;
  const { checkMedia } = await import("../checks/check-lazy.js");
  const issues = await checkMedia([{ media: file, use, path: "" }], { signal, parser });
  if (issues.length > 0) throw new ValidationError(issues);
}

function getUpload(client: Client, file: Blob): PageUpload {
  const files = uploads.get(client) ?? new WeakMap<Blob, PageUpload>();
  uploads.set(client, files);
  const upload = files.get(file) ?? { state: undefined, lastCall: Promise.resolve() };
  files.set(file, upload);
  return upload;
}

async function uploadNow(
  client: Client,
  file: Blob,
  upload: PageUpload,
  { onProgress, signal, headers, storage }: UploadOptions,
): Promise<UploadedMedia> {
  const call = openCall(client, { kind: "upload", path: UPLOADS_PATH }, { signal, headers });
  const reportProgress = (loadedBytes: number) => onProgress?.({ loadedBytes, totalBytes: file.size });
  try {
    const stored = storage && (await findStored(client, storage, file, call.signal));
    upload.state ??= stored?.state;
    // renew a URL that expires soon
    if (!(upload.state && isUsable(upload.state)))
      upload.state = await sendFile({ client, file, call }, upload.state, {
        onProgress: reportProgress,
        onState(next) {
          upload.state = next;
          stored?.save(next);
        },
      });
    reportProgress(file.size);
  } catch (error) {
    // after the first response, a 404 is about the file
    if (!upload.state && isClosedRoute(error))
      error.message =
        "the proxy does not serve this path: its operator sets up `fileStore()` of @sluice/durable";
    call.close({ error });
    throw error;
  }
  call.close();
  const { id, url = "", expiresAt = 0, type } = upload.state;
  return { id, url, expiresAt, type };
}

async function findStored(client: Client, storage: RecordStorage, file: Blob, signal: AbortSignal) {
  // if this code fails to load, only a reload of the page loses the upload
  const loaded = await import("./stored-uploads.js").catch((error) => reportStorageFailure(client, error));
  return loaded?.findStoredUpload(client, storage, file, signal);
}

function isUsable({ url, expiresAt = 0 }: UploadAtProxy): boolean {
  return url !== undefined && expiresAt - Date.now() > VALID_MS;
}
