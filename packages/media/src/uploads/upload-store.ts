import type { Client, Store } from "@sluice/core";
import { createOptionsReader, createStore, noteOptions, toError } from "@sluice/core/extend";
import { registerForget } from "@sluice/stores/extend";
import { type UploadedMedia, type UploadOptions, uploadMedia } from "./upload.js";

/** State of an upload store, with the names of TanStack Query. */
export interface UploadState {
  /** `idle`: no file yet. `pending`: a file is being sent. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** Share of the file that is stored, from 0 to 1. Undefined without a file. */
  readonly progress: number | undefined;
  /** The stored file, once `status` is `success`. */
  readonly data: UploadedMedia | undefined;
  /** Error of the upload. */
  readonly error: Error | undefined;
}

/** Options of an upload store. They are read at each use. */
export type UploadStoreOptions = Pick<UploadOptions, "use" | "parser" | "headers" | "storage">;

/** Store of one upload at a time. */
export interface UploadStore extends Store<UploadState> {
  /** Uploads a file in place of the previous file. Never rejects: resolves with the final state. */
  upload(file: Blob): Promise<UploadState>;
  /** Stops the upload. The next `upload` of the same file continues it. */
  stop(): void;
  /** Stops the upload, and forgets the file in this store. */
  reset(): void;
}

/**
 * Creates the store of an upload, for a page that shows its progress.
 *
 * @param options the options, or a function that returns them at each use
 * @example
 * ```ts
 * const upload = createUploadStore(client, { use: "reference_video", parser: mediabunny });
 * upload.subscribe(() => show(upload.getSnapshot().progress));
 * const { data } = await upload.upload(clip);
 * ```
 */
export function createUploadStore(
  client: Client,
  options: UploadStoreOptions | (() => UploadStoreOptions) = {},
): UploadStore {
  noteOptions("createUploadStore", options, client);
  const readOptions = createOptionsReader(options);
  let state: UploadState = idle;
  let controller = new AbortController();
  const store = createStore(() => state, {
    clock: client.clock,
    onUse: () => registerForget(client, reset),
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, upload, stop, reset };

  async function upload(file: Blob): Promise<UploadState> {
    stop();
    const { signal } = controller;
    setState({ ...idle, status: "pending", progress: 0 });
    const show = (next: UploadState) => {
      if (!signal.aborted) setState(next);
      return next;
    };
    try {
      const { use, parser, headers, storage } = readOptions();
      const onProgress: UploadOptions["onProgress"] = ({ loadedBytes, totalBytes }) =>
        show({ ...state, progress: loadedBytes / totalBytes });
      const data = await uploadMedia(client, file, {
        use,
        parser,
        headers,
        storage,
        signal,
        onProgress,
      });
      return show({ ...idle, status: "success", progress: 1, data });
    } catch (error) {
      return show({ ...idle, status: "error", error: toError(error) });
    }
  }

  function stop(): void {
    controller.abort(new DOMException("The upload was stopped", "AbortError"));
    controller = new AbortController();
    if (state.status === "pending") setState(idle);
  }

  function reset(): void {
    stop();
    setState(idle);
  }

  function setState(next: UploadState): void {
    state = next;
    store.flush();
  }
}

const idle = { status: "idle", progress: undefined, data: undefined, error: undefined } as const;
