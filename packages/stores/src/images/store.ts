import {
  type Client,
  ConfigurationError,
  type GeneratedImage,
  type ImageModel,
  type ImageResult,
  type Store,
} from "@sluice/core";
import type { FailedImage } from "@sluice/core/internal";
import {
  callAfter,
  canReuseKey,
  createRandomId,
  createReader,
  createStore,
  delayRenewal,
  isEqual,
  linkRenewalAt,
  noteOptions,
} from "@sluice/core/internal";
import type { WithFiles } from "../files/request-files.js";
import { requestOptionsOf } from "../request-options.js";
import { onForget } from "../storage/in-use.js";
import { createRun, failureOf, type Run, refusalOf } from "./generation.js";
import type { ImageOptionsFor, ImageStoreOptions, RequestWithoutModel } from "./options.js";
import type { ImageRequestOf, ImageState, SettledImages } from "./state.js";

/** Store of generated images, with one request at a time. */
export interface ImageStore<Model extends string = ImageModel> extends Store<ImageState<Model>> {
  /**
   * Checks the request, sends it and waits for its images. Never rejects: resolves to the images or the
   * error. A `model` in the request wins over the one of the store. A `File` or `Blob` in `image` is uploaded first, by
   * the client's `uploads`; if that fails, the request is `not-sent`.
   *
   * The request is repeated as in `generateImages`. The same request after one whose answer was lost has its
   * `idempotency-key`: a proxy with `idempotency()` gives the first images. If another request is in flight and
   * `whenBusy` is `reject`, nothing is sent and the state stays as it is: only the promise reports it.
   */
  generate(request: WithFiles<RequestWithoutModel<ImageRequestOf<Model>>>): Promise<SettledImages<Model>>;
  /** Stops the request in flight, which becomes an `error`. Its `billing` shows if it may be billed. */
  stop(): void;
  /** Deletes the state. A request in flight is aborted, and may be billed. */
  reset(): void;
  /** Returns the same store with other options, for another component that shows the images. */
  withOptions(options: ImageStoreOptions<Model> | (() => ImageStoreOptions<Model>)): ImageStore<Model>;
}

/**
 * Creates a store for images. Nothing is sent before `generate`.
 *
 * @param options the options, or a function that returns them and is called at each use, so that none is stale
 * @example
 * ```ts
 * const images = createImageStore(client, { model: "gamma-image-5-0-260128" });
 * images.subscribe(() => render(images.getSnapshot()));
 * const { data, error } = await images.generate({ prompt: "A reef at dawn", size: "2048x2048" });
 * ```
 */
export function createImageStore<Model extends ImageModel | (string & {})>(
  client: Client,
  options: ImageOptionsFor<Model> | (() => ImageOptionsFor<Model>),
): ImageStore<Model> {
  noteOptions("createImageStore or useImages", options, client);
  let state: ImageState<Model> = idle;
  let run: Run<Model> | undefined;
  // the options of the last request
  let readLast = createReader<ImageStoreOptions<Model>>(options);
  /** The last request, if nobody knows how it ended: the same one again has its key. */
  let lost: LostRequest<Model> | undefined;
  /** The wait until the next link expires, while there are subscribers. */
  let waking: AbortController | undefined;
  const store = createStore(() => state, {
    clock: client.clock,
    client,
    onUse() {
      const leaveClient = onForget(client, reset);
      waking = new AbortController();
      renewInTime();
      return () => {
        leaveClient();
        waking?.abort();
        waking = undefined;
      };
    },
  });

  return withReader(readLast);

  function withReader(read: () => ImageStoreOptions<Model>): ImageStore<Model> {
    return {
      getSnapshot: store.getSnapshot,
      subscribe: store.subscribe,
      async generate(request) {
        const variables = variablesOf(request, read());
        if (run && read().whenBusy !== "replace")
          return failureOf(new ConfigurationError(BUSY), "none", variables);
        const refusal = refusalOf(client, variables, requestOptionsOf(read()));
        if (!refusal) return start(variables, read);
        if (!run) show(refusal, read, Date.now());
        return refusal;
      },
      stop() {
        const stopped = stopRun("stopped");
        if (stopped) show(stopped, readLast);
      },
      reset,
      withOptions: (options) => withReader(createReader(options)),
    };
  }

  function reset(): void {
    stopRun("forgotten");
    set(idle);
  }

  function variablesOf(
    request: object,
    { model: storeModel, params }: ImageStoreOptions<Model>,
  ): ImageRequestOf<Model> {
    const { model = storeModel } = request as { readonly model?: string };
    // the parameters belong to one model, and another model may not have them
    return { ...(model === storeModel && params), ...request, model } as unknown as ImageRequestOf<Model>;
  }

  function start(
    variables: ImageRequestOf<Model>,
    read: () => ImageStoreOptions<Model>,
  ): Promise<SettledImages<Model>> {
    stopRun("replaced by a newer one");
    readLast = read;
    const repeated = lost && isEqual(lost.variables, variables) ? lost : undefined;
    const idempotencyKey = repeated?.idempotencyKey ?? createRandomId();
    lost = repeated;
    const onEnd = (settled: SettledImages<Model>) => {
      run = undefined;
      const isLost = canReuseKey(settled.error, started.billing());
      lost = isLost ? { variables, idempotencyKey, sent: started.sent() } : undefined;
      show(settled, read);
    };
    const onUpload = (uploadProgress: number | undefined) => set({ ...state, uploadProgress });
    const options = { ...requestOptionsOf(read()), idempotencyKey };
    const started = createRun(client, variables, options, onEnd, onUpload, repeated?.sent);
    run = started;
    const { data, failedCount } = state;
    set({ ...idle, status: "pending", data, failedCount, variables, submittedAt: Date.now() });
    return started.settled;
  }

  function stopRun(why: string): SettledImages<Model> | undefined {
    const ended = run?.stop(why);
    // a repetition that did not arrive says nothing about the first request
    if (ended?.error?.billing === "maybe") lost = undefined;
    run = undefined;
    return ended;
  }

  function show(
    settled: SettledImages<Model>,
    read: () => ImageStoreOptions<Model>,
    submittedAt = state.submittedAt,
  ): void {
    const { status, data = state.data, error, variables } = settled;
    const failedCount = data?.images.filter((image) => image.error).length ?? 0;
    set({ ...idle, status, data, failedCount, error, variables, submittedAt });
    renewInTime();
    // a separate task: the store does not fail by an error of the app
    queueMicrotask(() => {
      const { onSuccess, onError } = read();
      if (settled.status === "success") onSuccess?.(settled.data, settled);
      else onError?.(settled.error, settled);
    });
  }

  /** Waits until a link of the shown images expires, and renews it. */
  function renewInTime(): void {
    const { data } = state;
    if (!waking || !data) return;
    waking.abort();
    waking = new AbortController();
    const due = Math.min(...data.images.map(dueAt));
    callAfter(client.clock, Math.max(0, due - Date.now()), waking.signal, () => void renew(data));
  }

  async function renew(data: ImageResult): Promise<void> {
    const renewed = await import("./archive.js")
      .then(({ renewedImages }) => renewedImages(client, data, dueAt))
      .catch(() => ({ ...data, images: data.images.map(deferred) }));
    // other images may be there meanwhile
    if (state.data !== data) return;
    set({ ...state, data: renewed });
    renewInTime();
  }

  function set(next: ImageState<Model>): void {
    state = next;
    store.flush();
  }
}

interface LostRequest<Model extends string> {
  readonly variables: ImageRequestOf<Model>;
  readonly idempotencyKey: string;
  /** The request as it was sent, with the addresses of its files. */
  readonly sent: ImageRequestOf<Model> | undefined;
}

const dueAt = (image: GeneratedImage | FailedImage) =>
  image.url === undefined ? Number.POSITIVE_INFINITY : linkRenewalAt(image);

const deferred = (image: GeneratedImage | FailedImage) =>
  image.url !== undefined && dueAt(image) <= Date.now() ? delayRenewal(image) : image;

const idle = {
  status: "idle",
  data: undefined,
  failedCount: 0,
  error: undefined,
  variables: undefined,
  uploadProgress: undefined,
  submittedAt: undefined,
} as const;

const BUSY = 'images are under way: wait for them, stop() them, or set `whenBusy` to "replace"';
