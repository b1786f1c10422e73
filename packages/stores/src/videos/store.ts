import {
  type Client,
  type RequestOptions,
  ValidationError,
  type VideoRequest,
  type VideoTaskHandle,
} from "@sluice/core";
import {
  assertVideoRequest,
  createOptionsReader,
  noteOptions,
  type RequestFor,
  videos,
} from "@sluice/core/extend";
import { pickRequestOptions } from "../base/request-options.js";
import { getUploader, hasFiles, type WithFiles } from "../files/request-files.js";
import type { Sending, TaskStore } from "../tasks/task-state.js";
import { createTaskStore } from "../tasks/task-store.js";
import { getVideoTaskLedger } from "./ledger.js";
import type {
  VideoRequests,
  VideoTaskCreateOptions,
  VideoTaskState,
  VideoTaskStoreOptions,
} from "./state.js";

/** Store of one video task: empty at first, then the submitted or attached task. */
export interface VideoTaskStore extends TaskStore<VideoTaskState, VideoTaskHandle> {
  /**
   * Checks the request, and its media with the client's `uploads`, creates the task, and watches it. Never rejects:
   * resolves to the state as soon as the gateway responds. A `File` or `Blob` instead of a URL is first uploaded by the
   * client's `uploads`; if that fails, the task is `not-sent`. While a task is in flight, a second call sends nothing, so
   * that a double click pays once; `whenBusy` decides about its result.
   *
   * The request of an `unconfirmed` entry, or of an entry whose tab was closed before the response, continues that entry
   * with its `idempotency-key`. A proxy with idempotency then returns the first task.
   *
   * The entry is stored before the request is sent. If the storage takes more than 3 s, the request is sent and the entry
   * is stored later.
   *
   * @example A model that this version does not know:
   * ```ts
   * await video.create({ model: "beta4.0-video", input: { prompt: "A reef at dawn" } }, { checks: false });
   * ```
   */
  create<const Model extends string, Checks extends boolean = true>(
    request: RequestFor<Model, WithFiles<VideoRequests>, Checks>,
    options?: VideoTaskCreateOptions<Checks>,
  ): Promise<VideoTaskState>;
  /** Stops watching and keeps the shown state. The task continues and is billed; it cannot be cancelled. */
  detach(): void;
  /**
   * Forgets the task in this store. The task continues and stays in the list. A request that is still being checked or
   * stored is not sent.
   */
  reset(): void;
}

/**
 * Creates the store of one video task. Nothing is polled before the first subscription. One store polls a task for all
 * stores of a client and all tabs of the origin.
 *
 * @param options the options, or a function that returns the current options at each use
 * @example
 * ```ts
 * const video = createVideoTaskStore(client, { storage: indexedDBStorage() });
 * video.subscribe(() => show(video.getSnapshot().progress));
 * await video.create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
 * ```
 */
export function createVideoTaskStore(
  client: Client,
  options: VideoTaskStoreOptions | (() => VideoTaskStoreOptions) = {},
): VideoTaskStore {
  noteOptions("createVideoTaskStore or useVideoTask", options, client);
  const read = createOptionsReader(options);
  const ledger = getVideoTaskLedger(client, read());
  const addKnown = (handle: VideoTaskHandle) => ledger.getHandle(handle.id) ?? handle;
  const { submit, ...store } = createTaskStore(videos, client, read, {
    getWatch: (handle, known) => ledger.watch(handle, read, known),
    addKnown,
    getProgress: ({ progress }) => progress,
    createState: ({ handle, ...state }, task): VideoTaskState => ({
      ...state,
      handle: handle && addKnown(handle),
      task,
    }),
  });
  return {
    ...store,
    create: (given, { label, checks } = {}) =>
      submit("creating", async ({ signal, advance }) => {
        const request = given as VideoRequest;
        const ofStore = pickRequestOptions(read());
        const options = { ...ofStore, checks: checks ?? ofStore.checks };
        await assertSendable(client, request, options, signal);
        const sent = await uploadRequestFiles(client, request, signal, advance);
        const { handle } = await ledger.submit(sent, { ...options, label, unlessSent: signal });
        return handle;
      }),
  };
}

/**
 * Checks a request and its media before the request is stored or sent.
 *
 * @throws {ValidationError} if one of them breaks a rule
 */
async function assertSendable(
  client: Client,
  request: VideoRequest | WithFiles<VideoRequest>,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<void> {
  const files = hasFiles(request) ? await loadFiles(client) : undefined;
  const withAddresses = files ? files.replaceFiles(request) : request;
  assertVideoRequest(client, withAddresses, options);
  // `checks: false` skips the media, too
  const media = options.checks === false ? [] : client.uploads?.check?.(request as VideoRequest, { signal });
  const issues = (await media) ?? [];
  signal.throwIfAborted();
  if (issues.length > 0) throw new ValidationError(issues);
}

/** Loads the code for requests with files. @throws {ConfigurationError} if the client lacks an uploader */
async function loadFiles(client: Client) {
  getUploader(client);
  return import("../files/in-request.js");
}

/** Uploads the files of a request and returns the request with their URLs. */
async function uploadRequestFiles(
  client: Client,
  request: VideoRequest,
  signal: AbortSignal,
  advance: (sending: Sending) => void,
): Promise<VideoRequest> {
  if (!hasFiles(request)) return request;
  const { uploadFiles } = await import("../files/in-request.js");
  const sent = await uploadFiles(client, request, signal, (progress) =>
    advance({ phase: "uploading", progress }),
  );
  advance({ phase: "creating" });
  return sent;
}
