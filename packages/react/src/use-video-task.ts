import type { SucceededVideoTask } from "@sluice/core";
import {
  createVideoTaskList,
  createVideoTaskStore,
  type VideoTaskEntry,
  type VideoTaskListOptions,
  type VideoTaskState,
  type VideoTaskStore,
  type VideoTaskStoreOptions,
} from "@sluice/stores";
import { useMemo, useSyncExternalStore } from "react";
import { useClient } from "./provider.js";
import { useIsHydrated } from "./use-is-hydrated.js";
import { useNotedOptions } from "./use-noted-options.js";
import { useTask } from "./use-task.js";

/** Options of `useVideoTask`. All except `storage` and `presence` may change at any time. */
export interface UseVideoTaskOptions<Data = SucceededVideoTask> extends VideoTaskStoreOptions {
  /** Id of an existing task, from a list or a URL. @default none */
  readonly taskId?: string | undefined;
  /** False stops polling: the state of the task no longer changes. @default true */
  readonly enabled?: boolean | undefined;
  /** Derives `data` from the finished task: `({ url }) => url`. @default the task itself */
  readonly select?: ((task: SucceededVideoTask) => Data) | undefined;
}

/** Result of `useVideoTask`: the state of the task and its methods, which keep their identity. */
export interface UseVideoTaskResult<Data = SucceededVideoTask>
  extends Omit<VideoTaskState, "data">,
    Omit<VideoTaskStore, "getSnapshot" | "subscribe" | "attach"> {
  /** The finished task or the result of `select`; undefined before the end. */
  readonly data: Data | undefined;
}

/**
 * Submits a video task and shows its progress, with the statuses of TanStack Query.
 *
 * Rendering and mounting create nothing. One tab polls a task for all components and tabs that show it. A hidden page
 * does not poll. Polling ends when the component unmounts. The task continues at the gateway, and `taskId` shows it
 * again.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Video() {
 *   const { status, progress, data, error, create } = useVideoTask({ storage });
 *   if (data) return <video src={data.url} controls />;
 *   if (status === "pending") return <progress value={progress} />;
 *   return (
 *     <button onClick={() => create({ model: "beta3.0-video", input: { prompt: "A reef at dawn" } })}>
 *       {error ? describeError(error).title : "Make a video"}
 *     </button>
 *   );
 * }
 * ```
 */
export function useVideoTask<Data = SucceededVideoTask>(
  options: UseVideoTaskOptions<Data> = {},
): UseVideoTaskResult<Data> {
  const { taskId, enabled = true, select } = options;
  const task = useTask<VideoTaskStoreOptions, VideoTaskStore>(taskId, options, createVideoTaskStore, enabled);
  const { data: finished } = task;
  const data = useMemo(
    () => (finished && select ? select(finished) : (finished as Data | undefined)),
    [finished, select],
  );
  return { ...task, data };
}

/** Result of `useVideoTasks`. */
export interface UseVideoTasksResult {
  /**
   * All submitted tasks, newest first, including tasks of other tabs and earlier page loads. Excludes removed tasks.
   */
  readonly tasks: readonly VideoTaskEntry[];
  /** Removes a task from the list, by the `key` of its entry. The task continues at the gateway. */
  readonly remove: (key: string) => void;
}

/**
 * Lists the video tasks. Polls unfinished tasks while the component is mounted.
 *
 * @param options each must stay the same from render to render: create `storage` outside the component
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const { tasks, remove } = useVideoTasks({ storage });
 * return tasks.map(({ key, label, task }) => <li key={key}>{label} {task?.state}</li>);
 * ```
 */
export function useVideoTasks(options: VideoTaskListOptions = {}): UseVideoTasksResult {
  const client = useClient();
  useNotedOptions("createVideoTaskList or useVideoTasks", options);
  const { storage, presence, intervalMs, pollInBackground } = options;
  const { subscribe, getSnapshot, remove } = useMemo(
    () => createVideoTaskList(client, { storage, presence, intervalMs, pollInBackground }),
    [client, storage, presence, intervalMs, pollInBackground],
  );
  const isHydrated = useIsHydrated();
  const tasks = useSyncExternalStore(subscribe, getSnapshot, getSnapshot);
  return { tasks: isHydrated ? tasks : noTasks, remove };
}

const noTasks: readonly VideoTaskEntry[] = [];
