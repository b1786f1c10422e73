import { createRefusals } from "../shared/create-refusals.js";

/** Creates a refusal of a watch. */
export const createWatchRefusal = createRefusals({
  too_many_readers: [429, "this is open {what} times already; close one, or try again later"],
  too_many_tasks: [429, "{what} of your tasks are watched already; wait until one ends"],
  task_unknown: [404, "the gateway does not know this task", "task_not_found"],
  upstream_unreadable: [502, "the gateway's responses show no task; query it yourself"],
  watch_timeout: [504, "the task was not over after 24 hours"],
});

export type WatchRefusal = Parameters<typeof createWatchRefusal>[0];
