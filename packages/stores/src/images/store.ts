import { type Client, ConfigurationError, type ImageModel, type Store } from "@sluice/core";
import {
  canReuseKey,
  createOptionsReader,
  createRandomId,
  createStore,
  noteOptions,
} from "@sluice/core/extend";
import { isEqual } from "../base/is-equal.js";
import { pickRequestOptions } from "../base/request-options.js";
import type { WithFiles } from "../files/request-files.js";
import { registerForget } from "../storage/forget.js";
import { createFailure, createRun, findRefusal, type Run } from "./generation.js";
import type {
  ImageOptionsFor,
  ImageRequestOf,
  ImageState,
  ImageStoreOptions,
  RequestWithoutModel,
  SettledImages,
} from "./state.js";

/** Store of generated images, with one request at a time. */
export interface ImageStore<Model extends string = ImageModel> extends Store<ImageState<Model>> {
  /**
   * Checks the request, sends it and waits for its images. Never rejects: resolves to the images or the error. A `model`
   * in the request overrides the model of the store. A `File` or `Blob` in `image` is first uploaded by the client's
   * `uploads`; if that fails, the request is `not-sent`.
   *
   * Retries work as in `generateImages`. If the response to a request was lost, the same request reuses its
   * `idempotency-key`, and a proxy with idempotency returns the first images. If another request is in flight and
   * `whenBusy` is `reject`, nothing is sent and the state does not change: only the promise reports it.
   */
  generate(request: WithFiles<RequestWithoutModel<ImageRequestOf<Model>>>): Promise<SettledImages<Model>>;
  /** Stops the request in flight, which becomes an `error`. Its `billing` tells whether it may be billed. */
  stop(): void;
  /** Deletes the state. A request in flight is aborted, and may be billed. */
  reset(): void;
  /** Returns the same store with other options, for another component that shows the images. */
  withOptions(options: ImageStoreOptions<Model> | (() => ImageStoreOptions<Model>)): ImageStore<Model>;
}

/**
 * Creates a store for images. Nothing is sent before `generate`.
 *
 * @param options the options, or a function that returns the current options at each use
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
  let currentRun: Run<Model> | undefined;
  let readLastOptions = createOptionsReader<ImageStoreOptions<Model>>(options);
  /** The last request, if its response was lost. The same request reuses its key. */
  let lostRequest: LostRequest<Model> | undefined;
  const store = createStore(() => state, {
    clock: client.clock,
    client,
    onUse: () => registerForget(client, reset),
  });

  return createView(readLastOptions);

  function createView(readOptions: () => ImageStoreOptions<Model>): ImageStore<Model> {
    return {
      getSnapshot: store.getSnapshot,
      subscribe: store.subscribe,
      async generate(request) {
        const variables = createVariables(request, readOptions());
        if (currentRun && readOptions().whenBusy !== "replace")
          return createFailure(new ConfigurationError(BUSY), "none", variables);
        const refusal = findRefusal(client, variables, pickRequestOptions(readOptions()));
        if (!refusal) return start(variables, readOptions);
        if (!currentRun) show(refusal, readOptions, Date.now());
        return refusal;
      },
      stop() {
        const stopped = stopRun("stopped");
        if (stopped) show(stopped, readLastOptions);
      },
      reset,
      withOptions: (options) => createView(createOptionsReader(options)),
    };
  }

  function reset(): void {
    stopRun("forgotten");
    setState(idle);
  }

  function createVariables(
    request: object,
    { model: storeModel, params }: ImageStoreOptions<Model>,
  ): ImageRequestOf<Model> {
    const { model = storeModel } = request as { readonly model?: string };
    // the parameters belong to the store's model, and another model may not have them
    return { ...(model === storeModel && params), ...request, model } as unknown as ImageRequestOf<Model>;
  }

  function start(
    variables: ImageRequestOf<Model>,
    readOptions: () => ImageStoreOptions<Model>,
  ): Promise<SettledImages<Model>> {
    stopRun("replaced by a newer one");
    readLastOptions = readOptions;
    const repeated = lostRequest && isEqual(lostRequest.variables, variables) ? lostRequest : undefined;
    const idempotencyKey = repeated?.idempotencyKey ?? createRandomId();
    lostRequest = repeated;
    const onEnd = (settled: SettledImages<Model>) => {
      currentRun = undefined;
      const isLost = canReuseKey(settled.error, started.getBilling());
      lostRequest = isLost ? { variables, idempotencyKey, sent: started.getSent() } : undefined;
      show(settled, readOptions);
    };
    const onUpload = (uploadProgress: number | undefined) => setState({ ...state, uploadProgress });
    const options = { ...pickRequestOptions(readOptions()), idempotencyKey };
    const started = createRun(client, variables, options, onEnd, onUpload, repeated?.sent);
    currentRun = started;
    const { data, failedCount } = state;
    setState({ ...idle, status: "pending", data, failedCount, variables, submittedAt: Date.now() });
    return started.settled;
  }

  function stopRun(reason: string): SettledImages<Model> | undefined {
    const ended = currentRun?.stop(reason);
    // after a stopped request that may be billed, a repetition is a new request
    if (ended?.error?.billing === "maybe") lostRequest = undefined;
    currentRun = undefined;
    return ended;
  }

  function show(
    settled: SettledImages<Model>,
    readOptions: () => ImageStoreOptions<Model>,
    submittedAt = state.submittedAt,
  ): void {
    const { status, data = state.data, error, variables } = settled;
    const failedCount = data?.images.filter((image) => image.error).length ?? 0;
    setState({ ...idle, status, data, failedCount, error, variables, submittedAt });
    // in a microtask, so that an error of the app's callback does not break the store
    queueMicrotask(() => {
      const { onSuccess, onError } = readOptions();
      if (settled.status === "success") onSuccess?.(settled.data, settled);
      else onError?.(settled.error, settled);
    });
  }

  function setState(next: ImageState<Model>): void {
    state = next;
    store.flush();
  }
}

interface LostRequest<Model extends string> {
  readonly variables: ImageRequestOf<Model>;
  readonly idempotencyKey: string;
  /** The sent request, with the URLs of its files. */
  readonly sent: ImageRequestOf<Model> | undefined;
}

const idle = {
  status: "idle",
  data: undefined,
  failedCount: 0,
  error: undefined,
  variables: undefined,
  uploadProgress: undefined,
  submittedAt: undefined,
} as const;

const BUSY = 'a request is in flight: wait for it, stop() it, or set `whenBusy` to "replace"';
