import {
  type Client,
  type RequestOptions,
  ValidationError,
  type VideoRequest,
  type VideoTaskHandle,
} from "@sluice/core";
import { assertVideoRequest, createOptionsReader, noteOptions, videos } from "@sluice/core/extend";
import type { RequestFor } from "@sluice/core/schemas";
import { pickRequestOptions } from "../base/request-options.js";
import { hasFiles, loadUploadCode, type WithFiles } from "../files/request-files.js";
import type { CreationReporter, TaskStore } from "../tasks/task-state.js";
import { createTaskStore } from "../tasks/task-store.js";
import { getVideoTaskEntries } from "./entries.js";
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
  const readOptions = createOptionsReader(options);
  const entries = getVideoTaskEntries(client, readOptions());
  const { submit, ...store } = createTaskStore(videos, client, readOptions, {
    getWatch: (handle, known) => entries.watch(handle, readOptions, known),
    completeHandle: (handle) => entries.getHandle(handle.id) ?? handle,
    getProgress: ({ progress }) => progress,
    createState: (state, task): VideoTaskState => ({ ...state, task }),
  });
  return {
    ...store,
    create: (given, { label, checks } = {}) =>
      submit("creating", async (reporter) => {
        const storeOptions = pickRequestOptions(readOptions());
        const options = { ...storeOptions, checks: checks ?? storeOptions.checks };
        const request = await prepareRequest(client, given as VideoRequest, options, reporter);
        const { handle } = await entries.submit(request, {
          ...options,
          label,
          unsentSignal: reporter.signal,
        });
        return handle;
      }),
  };
}

/**
 * Checks a request and its media, then uploads its files. Returns the request with their URLs.
 *
 * @throws {ValidationError} if the request or its media break a rule
 * @throws {ConfigurationError} for files if the client lacks an uploader
 */
async function prepareRequest(
  client: Client,
  request: VideoRequest,
  options: RequestOptions,
  { signal, show }: Pick<CreationReporter, "signal" | "show">,
): Promise<VideoRequest> {
  // a request without files is checked in the task of the click
  const files = hasFiles(request) ? await loadUploadCode(client) : undefined;
  assertVideoRequest(client, files ? files.replaceFiles(request) : request, options);
  // `checks: false` skips the media, too
  const issues = options.checks === false ? [] : await client.uploads?.check?.(request, { signal });
  signal.throwIfAborted();
  if (issues?.length) throw new ValidationError(issues);
  if (!files) return request;
  const sent = await files.uploadFiles(client, request, signal, (progress) =>
    show({ phase: "uploading", progress }),
  );
  show({ phase: "creating" });
  return sent;
}
