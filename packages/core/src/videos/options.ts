import type { Issue } from "../errors.js";
import type { RequestOptions } from "../http.js";
import type { Presence } from "../presence.js";
import type { RecordStorage } from "../storage/storage.js";
import type { SucceededVideoTask } from "../task.js";
import type { WatchSettings } from "./ledger.js";
import type { VideoRequest } from "./schema/request.js";

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

/** What a list of video tasks takes. */
export type VideoTaskListOptions = Pick<
  VideoTaskStoreOptions,
  "storage" | "presence" | "refetchInterval" | "refetchIntervalInBackground"
>;

/** The same, as the ledger takes it. */
export function settingsOf({
  refetchInterval,
  refetchIntervalInBackground,
}: VideoTaskListOptions): WatchSettings {
  return { intervalMs: refetchInterval, inBackground: refetchIntervalInBackground };
}
