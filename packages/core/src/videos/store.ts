import { asError } from "../errors.js";
import { createFollower, tellEnd } from "../follower.js";
import type { Client } from "../http.js";
import { createStore, forTheSame, readerOf, type Store } from "../store.js";
import type { VideoTask, VideoTaskReference } from "../task.js";
import type { UncheckedRequest } from "../validate.js";
import { assertSendable } from "./check.js";
import { videoTaskLedgerOf } from "./ledgers.js";
import { type SubmitOptions, settingsOf, type VideoTaskStoreOptions } from "./options.js";
import type { VideoRequest } from "./schema/request.js";
import { type VideoTaskState, videoTaskStateOf } from "./state.js";
import { taskFailure } from "./tasks.js";

/** One video task: none at first, then one that was submitted or attached. */
export interface VideoTaskStore extends Store<VideoTaskState> {
  /**
   * Checks the request, and its media where `checkMedia` is given, creates the task, and watches it. Never rejects:
   * resolves to the state as soon as the gateway has answered. As long as a task is on the way nothing is sent, so that
   * a double click pays once.
   */
  submit(request: VideoRequest | UncheckedRequest, options?: SubmitOptions): Promise<VideoTaskState>;
  /** Watches a task that is there already: its handle, also out of JSON, or its id. */
  attach(task: VideoTaskReference | string): void;
  /** Asks now, also after an error. */
  refetch(): void;
  /** Stops watching, and keeps what is shown. The task goes on, and is billed: there is no way to cancel one. */
  detach(): void;
  /** Forgets the task, here; it goes on, and stays in the list. One that is still being checked is not sent. */
  reset(): void;
}

/**
 * Makes the store of one video task. It asks nothing before somebody subscribes; all stores of a client, and all pages
 * of the origin, ask about a task through one of them.
 *
 * @param options a function is asked whenever one of them is needed, so that none is ever stale
 * @example
 * ```ts
 * const video = createVideoTaskStore(client, { storage: indexedDBStorage() });
 * video.subscribe(() => show(video.getSnapshot().progress));
 * await video.submit({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } });
 * ```
 */
export function createVideoTaskStore(
  client: Client,
  options: VideoTaskStoreOptions | (() => VideoTaskStoreOptions) = {},
): VideoTaskStore {
  const read = readerOf(options);
  const ledger = videoTaskLedgerOf(client, read());
  const settings = () => settingsOf(read());
  const failureOf = forTheSame((task: VideoTask | undefined) =>
    task?.state === "failed" ? taskFailure(task) : undefined,
  );
  const follower = createFollower<VideoTask>(hear);
  let handle: VideoTaskReference | undefined;
  let submitting: Promise<VideoTaskState> | undefined;
  let submitError: Error | undefined;
  // aborted as soon as nobody waits for what becomes of the submission
  let own = new AbortController();
  const store = createStore(compute, {
    throttleMs: 0,
    clock: client.clock,
    onFirst() {
      follower.look();
      store.flush();
    },
    onLast: follower.lookAway,
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    submit(request, { label } = {}) {
      if (submitting) return submitting;
      if (compute().status === "pending") return Promise.resolve(store.getSnapshot());
      forget();
      submitting = create(request, label);
      store.flush();
      return submitting;
    },
    attach(task) {
      const reference = typeof task === "string" ? { id: task } : task;
      if (reference.id === handle?.id) return;
      forget();
      handle = reference;
      follower.follow(ledger.watch(reference, settings));
      store.flush();
    },
    refetch() {
      if (!handle) return;
      const watch = ledger.watch(handle, settings);
      follower.follow(watch);
      watch.refetch();
      store.flush();
    },
    detach() {
      follower.detach();
      store.flush();
    },
    reset() {
      forget();
      store.flush();
    },
  };

  function compute(): VideoTaskState {
    const { snapshot, error } = follower.state;
    return videoTaskStateOf(follower.state, {
      isSubmitting: submitting !== undefined,
      handle: handle && (ledger.handleOf(handle.id) ?? handle),
      error: submitError ?? error ?? failureOf(snapshot),
    });
  }

  async function create(
    request: VideoRequest | UncheckedRequest,
    label: string | undefined,
  ): Promise<VideoTaskState> {
    const { signal } = own;
    const options = read();
    const created = await assertSendable(client, request, options, signal)
      .then(() => ledger.submit(request, { ...options.request, label, unlessSent: signal }))
      .catch(asError);
    if (signal.aborted) return store.getSnapshot();
    submitting = undefined;
    if (created instanceof Error) {
      submitError = created;
      queueMicrotask(() => read().onError?.(created));
    } else {
      handle = created.handle;
      if (handle) follower.follow(ledger.watch(handle, settings));
    }
    store.flush();
    return store.getSnapshot();
  }

  function hear(take: () => void): void {
    const before = compute().status;
    take();
    if (before === "pending") tellEnd(follower.state, compute(), read);
    store.flush();
  }

  function forget(): void {
    follower.forget();
    own.abort();
    own = new AbortController();
    submitting = undefined;
    submitError = undefined;
    handle = undefined;
  }
}
