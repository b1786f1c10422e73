import { Refusal, type RefusalDetails } from "@sluice/worker-proxy/plugin";

/** The refusals of watched videos: status, message, and the code if it is not the name. `{max}` is a number. */
const REFUSALS = {
  too_many_readers: [429, "this is open in {max} places already; close one, or try again later"],
  too_many_tasks: [429, "{max} of your tasks are watched already; wait until one ends"],
  task_unknown: [404, "the gateway does not know this task", "task_not_found"],
  upstream_unreadable: [502, "the gateway's responses show no task; query it yourself"],
  watch_timeout: [504, "the task was not over after 24 hours"],
} as const;

export type WatchRefusal = keyof typeof REFUSALS;

/** Creates a refusal of a watch. */
export function createWatchRefusal(reason: WatchRefusal, details: RefusalDetails = {}): Refusal {
  const [status, text, code = reason] = REFUSALS[reason];
  const message = text.replace("{max}", () => String(details.what));
  return new Refusal("said", { ...details, said: { status, code, message } });
}
