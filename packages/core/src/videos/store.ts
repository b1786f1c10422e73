import { asError, type Issue, ValidationError } from "../errors.js";
import type { Client, RequestOptions } from "../http.js";
import type { Presence } from "../presence.js";
import type { RecordStorage } from "../storage/storage.js";
import { createStore, forTheSame, type Store } from "../store.js";
import type { SucceededVideoTask, VideoTask, VideoTaskReference } from "../task.js";
import { assertAccepted, type UncheckedRequest } from "../validate.js";
import { createFollower, type WatchState } from "../watch.js";
import {
  createVideoTaskLedger,
  type VideoTaskEntry,
  type VideoTaskLedger,
  type WatchSettings,
} from "./ledger.js";
import { checkVideoRequest, type VideoRequest } from "./schema/request.js";
import { taskFailure } from "./tasks.js";

/** What a video task shows, in the words of TanStack Query. */
export interface VideoTaskState
  extends Pick<WatchState<VideoTask>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failure"> {
  /** `idle`: no task; `pending`: on the way; `success`: `data` has the video; `error`: `error` says why there is none. */
  readonly status: "idle" | "pending" | "success" | "error";
  /** True from `submit` until the gateway has answered, `checkMedia` included: there is no task yet. */
  readonly isSubmitting: boolean;
  /** The task's id and what its receipt said; enough to go on with it anywhere. */
  readonly handle: VideoTaskReference | undefined;
  /** As last seen. */
  readonly task: VideoTask | undefined;
  /** From 0 to 1, where the gateway tells; never going back. */
  readonly progress: number | undefined;
  readonly data: SucceededVideoTask | undefined;
  readonly error: Error | undefined;
}

/** What a video task store takes; all but `storage` and `presence` is read when it is used. */
export interface VideoTaskStoreOptions {
  /** Where tasks are kept between page loads. Without it they last as long as the page. */
  readonly storage?: RecordStorage | undefined;
  /** Whether the page is seen and connected; by default the page's own. */
  readonly presence?: Presence | undefined;
  /** Milliseconds from an answer to the next question, or a function of the task. @default 15_000 */
  readonly refetchInterval?: WatchSettings["intervalMs"];
  /** Whether to go on asking while nobody sees the page. @default false */
  readonly refetchIntervalInBackground?: boolean | undefined;
  /**
   * What a request that breaks no other rule is checked for before it is kept or sent: `checkVideoMedia` of
   * `@sluice/core/media`, or the app's own. Its issues refuse the request with a `ValidationError`; what it throws does
   * too. Requests that are `unchecked` don't come here.
   */
  readonly checkMedia?:
    | ((
        request: VideoRequest,
        options: { readonly signal: AbortSignal },
      ) => readonly Issue[] | Promise<readonly Issue[]>)
    | undefined;
  /** Headers, timeouts and retry of the create request. */
  readonly request?: RequestOptions | undefined;
  /** Called when a task has got its video, once, for one of the stores that watch it and have this. */
  readonly onSuccess?: ((task: SucceededVideoTask) => void) | undefined;
  /** Called when it turns out to have none, once as well, and for a `submit` that failed. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** What goes with a task that is created. */
export interface SubmitOptions {
  /** What the app calls the task, in its list. */
  readonly label?: string | undefined;
}

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

const ledgers = new WeakMap<Client, Map<RecordStorage | undefined, VideoTaskLedger>>();
/** Ends of tasks: however many stores hear of one, it is the same object in all of them, and told once. */
const told = new WeakSet<object>();

/** The ledger of a client's tasks in a storage: one for all who ask. */
export function videoTaskLedgerOf(
  client: Client,
  { storage, presence }: Pick<VideoTaskStoreOptions, "storage" | "presence">,
): VideoTaskLedger {
  const ofClient = ledgers.get(client) ?? new Map<RecordStorage | undefined, VideoTaskLedger>();
  ledgers.set(client, ofClient);
  const ledger = ofClient.get(storage) ?? createVideoTaskLedger(client, { storage, presence });
  ofClient.set(storage, ledger);
  return ledger;
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
  const read = typeof options === "function" ? options : () => options;
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
    const { snapshot: task, fetchStatus, pauseReason, nextPollAt, failure } = follower.state;
    const data = task?.state === "succeeded" ? task : undefined;
    const error = submitError ?? follower.state.error ?? failureOf(task);
    const isOnTheWay = submitting !== undefined || handle !== undefined;
    return {
      status: data ? "success" : error ? "error" : isOnTheWay ? "pending" : "idle",
      isSubmitting: submitting !== undefined,
      handle: handle && (ledger.handleOf(handle.id) ?? handle),
      task,
      progress: data ? 1 : task?.progress,
      data,
      error,
      fetchStatus,
      pauseReason,
      nextPollAt,
      failure,
    };
  }

  async function create(
    request: VideoRequest | UncheckedRequest,
    label: string | undefined,
  ): Promise<VideoTaskState> {
    const { signal } = own;
    const { request: options } = read();
    const created = await check(request, signal, options)
      .then(() => ledger.submit(request, { ...options, label }))
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

  /** Throws what is wrong with a request, as long as nobody but us knows of it. */
  async function check(
    request: VideoRequest | UncheckedRequest,
    signal: AbortSignal,
    options: RequestOptions | undefined,
  ): Promise<void> {
    let media: readonly Issue[] | Promise<readonly Issue[]> = [];
    const checkAll = (checked: unknown) => {
      const findings = checkVideoRequest(checked);
      if (findings.issues.length === 0)
        media = read().checkMedia?.(request as VideoRequest, { signal }) ?? [];
      return findings;
    };
    // which has no check for what is unchecked
    assertAccepted(request, checkAll, client.warn);
    const issues = await media;
    signal.throwIfAborted();
    options?.signal?.throwIfAborted();
    if (issues.length > 0) throw new ValidationError(issues);
  }

  function hear(take: () => void): void {
    const before = compute().status;
    take();
    if (before === "pending") tell(compute());
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

  function tell({ data, error }: VideoTaskState): void {
    const end = follower.state.error ?? follower.state.snapshot;
    const { onSuccess, onError } = read();
    // who has nobody to tell leaves it to those who have
    if (!end || !(data ? onSuccess : onError) || told.has(end)) return;
    told.add(end);
    queueMicrotask(() => {
      if (data) read().onSuccess?.(data);
      else if (error) read().onError?.(error);
    });
  }
}

/** What a list of video tasks takes. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "refetchInterval" | "refetchIntervalInBackground"
>;

function settingsOf({ refetchInterval, refetchIntervalInBackground }: VideoTaskListOptions): WatchSettings {
  return { intervalMs: refetchInterval, inBackground: refetchIntervalInBackground };
}

/** The list of video tasks: all that were submitted and not removed, newest first. */
export interface VideoTaskList extends Store<readonly VideoTaskEntry[]> {
  /** Forgets a task; it goes on at the gateway. */
  remove(key: string): void;
}

/**
 * Makes the list of a client's video tasks. As long as somebody subscribes, those that are not over are asked about.
 *
 * @example
 * ```ts
 * const list = createVideoTaskList(client, { storage: indexedDBStorage() });
 * list.subscribe(() => render(list.getSnapshot()));
 * ```
 */
export function createVideoTaskList(client: Client, options: VideoTaskListOptions = {}): VideoTaskList {
  const ledger = videoTaskLedgerOf(client, options);
  const settings = () => settingsOf(options);
  const watching = new Map<string, () => void>();
  let stopLedger: (() => void) | undefined;
  const store = createStore(ledger.getSnapshot, {
    throttleMs: 0,
    clock: client.clock,
    onFirst() {
      stopLedger = ledger.subscribe(follow);
      void ledger.restore();
      follow();
    },
    onLast() {
      stopLedger?.();
      for (const leave of watching.values()) leave();
      watching.clear();
    },
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, remove: ledger.remove };

  function follow(): void {
    watchAll();
    store.flush();
  }

  function watchAll(): void {
    const open = ledger
      .getSnapshot()
      .filter(({ task }) => task?.state !== "succeeded" && task?.state !== "failed");
    const wanted = new Map(open.flatMap(({ handle }) => (handle ? [[handle.id, handle] as const] : [])));
    for (const [id, leave] of watching) {
      if (wanted.has(id)) continue;
      leave();
      watching.delete(id);
    }
    for (const [id, handle] of wanted)
      if (!watching.has(id))
        watching.set(
          id,
          ledger.watch(handle, settings).subscribe(() => {}),
        );
  }
}

/** All video tasks that are kept in a storage, newest first, without asking the gateway about any. */
export async function listTasks(
  client: Client,
  options: Pick<VideoTaskStoreOptions, "storage">,
): Promise<readonly VideoTaskEntry[]> {
  const ledger = videoTaskLedgerOf(client, options);
  await ledger.restore();
  return ledger.getSnapshot();
}
