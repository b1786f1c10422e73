import {
  type Client,
  type Issue,
  type RequestOptions,
  ValidationError,
  type VideoRequest,
  type VideoTaskHandle,
} from "@sluice/core";
import {
  assertAccepted,
  checkVideoRequest,
  createReader,
  getUploader,
  noteOptions,
  type RequestFor,
  type VideoRequests,
  videos,
} from "@sluice/core/internal";
import { hasFiles, type WithFiles } from "../files/request-files.js";
import { requestOptionsOf } from "../request-options.js";
import type { Sending, TaskStore } from "../tasks/task-state.js";
import { createTaskStore } from "../tasks/task-store.js";
import { videoTaskLedgerOf } from "./entries.js";
import type { VideoTaskCreateOptions, VideoTaskStoreOptions } from "./options.js";
import type { VideoTaskState } from "./state.js";

/** Store of one video task: none at first, then the one that was submitted or attached. */
export interface VideoTaskStore extends TaskStore<VideoTaskState, VideoTaskHandle> {
  /**
   * Checks the request, and its media with the client's `uploads`, creates the task, and watches it. Never rejects:
   * resolves to the state as soon as the gateway has answered. A `File` or `Blob` in the place of an address is uploaded
   * first, by the client's `uploads`; if that fails, the task is `not-sent`. While a task has not ended, a second call sends nothing, so that a
   * double click pays once; `whenBusy` decides about its result.
   *
   * The same request as that of an `unconfirmed` entry, or of one whose tab was closed before the answer, continues this
   * entry, with its `idempotency-key`: a proxy with `idempotency()` gives the first task.
   *
   * The entry is stored before the request is sent. If the storage has not answered after 3 s, the request is sent and
   * the entry is stored later.
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
 * Creates the store of one video task. Nothing is polled before the first subscription. One store polls a
 * task for all stores of a client and all tabs of the origin.
 *
 * @param options the options, or a function that returns them and is called at each use, so that none is stale
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
  const read = createReader(options);
  const ledger = videoTaskLedgerOf(client, read());
  const knownOf = (handle: VideoTaskHandle) => ledger.handleOf(handle.id) ?? handle;
  const { submit, ...store } = createTaskStore(videos, client, read, {
    watchOf: (handle, known) => ledger.watch(handle, read, known),
    knownOf,
    progressOf: ({ progress }) => progress,
    stateOf: ({ handle, ...state }, task): VideoTaskState => ({
      ...state,
      handle: handle && knownOf(handle),
      task,
    }),
  });
  return {
    ...store,
    create: (given, { label, checks } = {}) =>
      submit("creating", async ({ signal, advance }) => {
        const request = given as VideoRequest;
        const ofStore = requestOptionsOf(read());
        const options = { ...ofStore, checks: checks ?? ofStore.checks };
        await assertSendable(client, request, options, signal);
        const sent = await uploaded(client, request, signal, advance);
        const { handle } = await ledger.submit(sent, { ...options, label, unlessSent: signal });
        return handle;
      }),
  };
}

/** Throws if a request or its media break a rule. Runs before the request is stored or sent. */
async function assertSendable(
  client: Client,
  request: VideoRequest | WithFiles<VideoRequest>,
  options: RequestOptions,
  signal: AbortSignal,
): Promise<void> {
  const files = hasFiles(request) ? await loadFiles(client) : undefined;
  const withAddresses = files ? files.withPlaces(request) : request;
  let media: readonly Issue[] | Promise<readonly Issue[]> = [];
  const checkAll = (checked: unknown) => {
    const findings = checkVideoRequest(checked);
    if (findings.issues.length === 0)
      media = client.uploads?.check?.(request as VideoRequest, { signal }) ?? [];
    return findings;
  };
  // the media of a request that is not checked are not checked, either
  assertAccepted(withAddresses, checkAll, client.warn, options);
  const issues = await media;
  signal.throwIfAborted();
  if (issues.length > 0) throw new ValidationError(issues);
}

/** Loads the code for requests with files. A client without `uploads` needs none of it. */
async function loadFiles(client: Client) {
  getUploader(client);
  return import("../files/in-request.js");
}

/** Uploads the files of a request, and returns the request with their addresses. */
async function uploaded(
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
