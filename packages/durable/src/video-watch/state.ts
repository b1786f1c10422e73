import type { ObjectState } from "../objects/object.js";
import { storedTask, type WatchedTask } from "./task.js";

/** The task of a watch, in memory and in its storage. */
export interface WatchState {
  /** Undefined before the first request, and after it was forgotten or erased. */
  task: WatchedTask | undefined;
  /** Set where the rows are of a later version: nothing of it is read or changed. */
  readonly tooNew: unknown;
  store(next: WatchedTask): Promise<void>;
  /** Sets the alarm first: an object that is lost in between wakes for nothing, and never sleeps with work to do. */
  wakeAndStore(at: number, next: WatchedTask): Promise<void>;
  forget(): Promise<void>;
}

/** Reads the task of a watch before its first request. */
export function openWatchState(state: ObjectState): WatchState {
  const { storage } = state;
  let tooNew: unknown;
  const watch: WatchState = {
    task: undefined,
    get tooNew() {
      return tooNew;
    },
    async store(next) {
      await storage.put("task", next);
      watch.task = next;
    },
    async wakeAndStore(at, next) {
      await storage.setAlarm(at);
      await watch.store(next);
    },
    async forget() {
      watch.task = undefined;
      await storage.deleteAll();
    },
  };
  void state.blockConcurrencyWhile(async () => {
    const stored = await storage.get("task");
    try {
      watch.task = storedTask(stored);
    } catch (error) {
      tooNew = error;
    }
  });
  return watch;
}
