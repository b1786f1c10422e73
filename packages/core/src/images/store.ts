import { createStore, readerOf, type Store } from "../base/store.js";
import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { ConfigurationError, type Outcome } from "../errors.js";
import type { ImageModel } from "../models.js";
import type { RequestOptions } from "../transport/send.js";
import type { ImageResult } from "./generate.js";
import {
  createRun,
  failureOf,
  type ImageRequestOf,
  type Run,
  refusalOf,
  type SettledImages,
} from "./generation.js";

/** State of an image store, in the terms of TanStack Query. */
export interface ImageState<Model extends string = ImageModel> {
  /** `success`: an answer came. `error`: no answer came, or the request was stopped. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** Last answer. It stays while the next request is in flight, and if that fails. */
  readonly data: ImageResult | undefined;
  /** Number of images of `data` that were not made. */
  readonly failures: number;
  /** Error of the last request: one of the library, or an `AbortError` for a request that was stopped. */
  readonly error: Error | undefined;
  /** Outcome of the failed request. `"unknown"`: it may be billed. */
  readonly outcome: Outcome | undefined;
  /** Last request, with `model` and `params`. `generate(variables)` sends it again. */
  readonly variables: ImageRequestOf<Model> | undefined;
  /** Time of the last request; Unix milliseconds. */
  readonly submittedAt: number | undefined;
}

/** A request whose `model` goes without saying. */
type Asked<Request> = Request extends { readonly model: infer Model }
  ? Omit<Request, "model"> & {
      /** The model that draws. @default `model` of the store */
      readonly model?: Model | undefined;
    }
  : never;
type Without<Field extends string, Request> = Request extends unknown ? Omit<Request, Field> : never;

/** Options of an image store; all of them are read at each use. */
export interface ImageStoreOptions<Model extends string = ImageModel> {
  /** Model of each request that does not name one. Each model has its own sizes. */
  readonly model: Model;
  /**
   * Fields that are added to each request to `model`, unless the request has its own: a size, a watermark.
   */
  readonly params?: Without<"model" | "prompt", ImageRequestOf<Model>> | undefined;
  /**
   * Behaviour of a request while another is in flight. `reject`: it is not sent, so that a double click pays
   * once. `replace`: the request in flight is aborted, and may be billed.
   *
   * @default "reject"
   */
  readonly whenBusy?: "reject" | "replace" | undefined;
  /** Headers, timeouts and retry of each request. */
  readonly request?: RequestOptions | undefined;
  /** Called each time that `status` becomes `success`. */
  readonly onSuccess?: ((data: ImageResult, settled: SettledImages<Model>) => void) | undefined;
  /** Called each time that `status` becomes `error`, also after `stop`. */
  readonly onError?: ((error: Error, settled: SettledImages<Model>) => void) | undefined;
}

/** Store of generated images, with one request at a time. */
export interface ImageStore<Model extends string = ImageModel> extends Store<ImageState<Model>> {
  /**
   * Checks the request, sends it and waits for its images. Never rejects: resolves to the images or the
   * error. A `model` in the request wins over the one of the store.
   *
   * The request is repeated only after a 429, which is not billed. If another request is in flight and
   * `whenBusy` is `reject`, nothing is sent and the state stays as it is: only the promise reports it.
   *
   * @example
   * A model that this version does not know:
   * ```ts
   * await images.generate(unchecked({ model: "gamma-image-6-0", prompt: "A reef at dawn" }));
   * ```
   */
  generate(request: Asked<ImageRequestOf<Model>> | UncheckedRequest): Promise<SettledImages<Model>>;
  /** Stops the request in flight, which becomes an `error`. Its `outcome` says whether it may be billed. */
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
  options: ImageStoreOptions<Model> | (() => ImageStoreOptions<Model>),
): ImageStore<Model> {
  let state: ImageState<Model> = idle;
  let run: Run<Model> | undefined;
  // the options of the last request
  let asked = readerOf(options);
  const store = createStore(() => state, { throttleMs: 0, clock: client.clock });

  return withReader(asked);

  function withReader(read: () => ImageStoreOptions<Model>): ImageStore<Model> {
    return {
      getSnapshot: store.getSnapshot,
      subscribe: store.subscribe,
      async generate(request) {
        const variables = variablesOf(request, read());
        if (run && read().whenBusy !== "replace")
          return failureOf(new ConfigurationError(BUSY), "not-sent", variables);
        const refusal = refusalOf(client, variables);
        if (!refusal) return start(variables, read);
        if (!run) show(refusal, read, Date.now());
        return refusal;
      },
      stop() {
        const stopped = giveUp("stopped");
        if (stopped) show(stopped, asked);
      },
      reset() {
        giveUp("forgotten");
        set(idle);
      },
      withOptions: (options) => withReader(readerOf(options)),
    };
  }

  function variablesOf(
    request: Asked<ImageRequestOf<Model>> | UncheckedRequest,
    { model: own, params }: ImageStoreOptions<Model>,
  ): ImageRequestOf<Model> {
    const { model = own } = request as { readonly model?: string };
    // the parameters of one model may be none of another's
    return { ...(model === own && params), ...request, model } as unknown as ImageRequestOf<Model>;
  }

  function start(
    variables: ImageRequestOf<Model>,
    read: () => ImageStoreOptions<Model>,
  ): Promise<SettledImages<Model>> {
    giveUp("replaced by a newer one");
    asked = read;
    const started = createRun(client, variables, read().request ?? {}, (settled) => {
      run = undefined;
      show(settled, read);
    });
    run = started;
    const { data, failures } = state;
    set({ ...idle, status: "pending", data, failures, variables, submittedAt: Date.now() });
    return started.settled;
  }

  function giveUp(why: string): SettledImages<Model> | undefined {
    const ended = run?.giveUp(why);
    run = undefined;
    return ended;
  }

  function show(
    settled: SettledImages<Model>,
    read: () => ImageStoreOptions<Model>,
    submittedAt = state.submittedAt,
  ): void {
    const { status, data = state.data, error, outcome, variables } = settled;
    const failures = data?.images.filter((image) => image.error).length ?? 0;
    set({ status, data, failures, error, outcome, variables, submittedAt });
    // a separate task: an error that the app throws there belongs to the app
    queueMicrotask(() => {
      const { onSuccess, onError } = read();
      if (settled.status === "success") onSuccess?.(settled.data, settled);
      else onError?.(settled.error, settled);
    });
  }

  function set(next: ImageState<Model>): void {
    state = next;
    store.flush();
  }
}

const idle = {
  status: "idle",
  data: undefined,
  failures: 0,
  error: undefined,
  outcome: undefined,
  variables: undefined,
  submittedAt: undefined,
} as const;

const BUSY = 'images are under way: wait for them, stop() them, or set `whenBusy` to "replace"';
