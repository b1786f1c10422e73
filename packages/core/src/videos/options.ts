import type { RecordStorage } from "../storage/storage.js";
import type { Presence } from "../tabs/page-activity.js";
import type { RequestOptions } from "../transport/send.js";
import type { Issue } from "../vocabulary/errors.js";
import type { SucceededVideoTask, VideoTaskReference } from "../vocabulary/video-task.js";
import type { VideoRequest } from "./schema/request.js";
import type { VideoTaskState } from "./state.js";
import type { VideoTaskWatchOptions } from "./watch.js";

/** Options of a video task store; all but `storage` and `presence` are read at each use. */
export interface VideoTaskStoreOptions {
  /** Storage of tasks between page loads. Without it they last as long as the page. */
  readonly storage?: RecordStorage | undefined;
  /** Visibility and connection of the page. @default the page's own */
  readonly presence?: Presence | undefined;
  /**
   * Milliseconds from an answer to the next poll, or a function of the task. It grows where a page polls more than
   * 20 tasks, so that all together are polled ten times in a second at most.
   *
   * @default 15_000
   */
  readonly intervalMs?: VideoTaskWatchOptions["intervalMs"];
  /** Polls while the page is hidden, too. @default false */
  readonly pollInBackground?: boolean | undefined;
  /**
   * Last check of a request before it is stored or sent: `checkVideoMedia` of `@sluice/core/media`, or the app's own.
   * Issues, and errors that it throws, refuse the request. It is not called for `unchecked` requests.
   */
  readonly checkMedia?:
    | ((
        request: VideoRequest,
        options: {
          /** Aborts when the store forgets the request. */
          readonly signal: AbortSignal;
        },
      ) => readonly Issue[] | Promise<readonly Issue[]>)
    | undefined;
  /**
   * Behaviour of a `create` while a task is in flight; it never sends. `join`: the promise resolves to the state of
   * the task in flight. `reject`: it resolves to a state with a `ConfigurationError`, and the store does not change.
   *
   * @default "join"
   */
  readonly whenBusy?: "join" | "reject" | undefined;
  /** Headers, timeouts and retry of the create request. */
  readonly request?: RequestOptions | undefined;
  /**
   * Called with the handle of a task as soon as the gateway has created it, even if the store was reset in the
   * meantime.
   */
  readonly onCreate?: ((handle: VideoTaskReference) => void) | undefined;
  /**
   * Called once when a task has its video, with the state that shows it. If several stores with this option watch the task, only one of
   * them calls it.
   */
  readonly onSuccess?: ((data: SucceededVideoTask, state: VideoTaskState) => void) | undefined;
  /** Called once when a task fails, and when a `create` fails, with the state that shows it. */
  readonly onError?: ((error: Error, state: VideoTaskState) => void) | undefined;
}

/** Options of `create`. */
export interface VideoTaskCreateOptions {
  /** Name that the app gives to the task in its list. */
  readonly label?: string | undefined;
}

/** Options of a list of video tasks. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "intervalMs" | "pollInBackground"
>;

/** Settings for polling a task; read at each use. */
export type WatchSettings = Pick<VideoTaskStoreOptions, "intervalMs" | "pollInBackground">;
