"use client";
import {
  createVideoTaskList,
  createVideoTaskStore,
  type SucceededVideoTask,
  type VideoTaskEntry,
  type VideoTaskListOptions,
  type VideoTaskState,
  type VideoTaskStore,
  type VideoTaskStoreOptions,
} from "@sluice/core";
import { useMemo, useSyncExternalStore } from "react";
import { useClient } from "./provider.js";
import { useOwnStore } from "./use-own-store.js";
import { useIsHydrated } from "./use-store.js";

/** Options of `useVideoTask`. All but `storage` and `presence` may change at any time. */
export interface UseVideoTaskOptions<Data = SucceededVideoTask> extends VideoTaskStoreOptions {
  /** A task that is there already, from a list or an address. */
  readonly taskId?: string | undefined;
  /** False: the task is shown as it was last seen, and not asked about. @default true */
  readonly enabled?: boolean | undefined;
  /** Chooses the part of the finished task that becomes `data`: `({ url }) => url`. */
  readonly select?: ((task: SucceededVideoTask) => Data) | undefined;
}

/** Result of `useVideoTask`: the task's state, and functions that never change. */
export interface UseVideoTaskResult<Data = SucceededVideoTask>
  extends Omit<VideoTaskState, "data">,
    Omit<VideoTaskStore, "getSnapshot" | "subscribe" | "attach"> {
  /** The finished task, or what `select` made of it. */
  readonly data: Data | undefined;
}

/**
 * A video task, from its submission to the video, in the words of TanStack Query.
 *
 * Rendering and mounting create nothing. However many components and tabs look at a task, one of them asks about it,
 * and none while nobody sees the page. Leaving the component ends the asking; the task goes on, and `taskId` brings it
 * back.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Video() {
 *   const { status, progress, data, error, submit } = useVideoTask({ storage });
 *   if (data) return <video src={data.url} controls />;
 *   if (status === "pending") return <progress value={progress} />;
 *   return (
 *     <button onClick={() => submit({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } })}>
 *       {error ? error.message : "Make a video"}
 *     </button>
 *   );
 * }
 * ```
 */
export function useVideoTask<Data = SucceededVideoTask>(
  options: UseVideoTaskOptions<Data> = {},
): UseVideoTaskResult<Data> {
  const { taskId, enabled = true, select } = options;
  const store = useOwnStore<VideoTaskStoreOptions, VideoTaskStore>(taskId, options, createVideoTaskStore);
  const subscribe = enabled ? store.subscribe : never;
  const state = useSyncExternalStore(subscribe, store.getSnapshot, store.getSnapshot);
  const { data: finished } = state;
  const data = useMemo(
    () => (finished && select ? select(finished) : (finished as Data | undefined)),
    [finished, select],
  );
  const { submit, refetch, detach, reset } = store;
  return { ...state, data, submit, refetch, detach, reset };
}

/** Result of `useVideoTasks`: the tasks, and functions that never change. */
export interface UseVideoTasksResult {
  /** All tasks that were submitted and not removed, newest first; those of other tabs and of before a reload too. */
  readonly tasks: readonly VideoTaskEntry[];
  /** Forgets a task; it goes on at the gateway. */
  readonly remove: (key: string) => void;
}

/**
 * The list of video tasks. As long as the component is there, those that are not over are asked about.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const { tasks, remove } = useVideoTasks({ storage });
 * return tasks.map(({ key, label, task }) => <li key={key}>{label} {task?.state}</li>);
 * ```
 */
export function useVideoTasks(options: UseVideoTasksOptions = {}): UseVideoTasksResult {
  const client = useClient();
  const { storage, presence, refetchInterval, refetchIntervalInBackground } = options;
  const { subscribe, getSnapshot, remove } = useMemo(
    () => createVideoTaskList(client, { storage, presence, refetchInterval, refetchIntervalInBackground }),
    [client, storage, presence, refetchInterval, refetchIntervalInBackground],
  );
  const isHydrated = useIsHydrated();
  const tasks = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  return { tasks: isHydrated ? tasks : nothing, remove };
}

/** Options of `useVideoTasks`. Each one has to be the same in every render. */
export type UseVideoTasksOptions = VideoTaskListOptions;

const nothing: readonly VideoTaskEntry[] = [];
const never = () => () => {};
