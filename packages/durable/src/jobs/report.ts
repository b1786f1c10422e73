import type { JobEvent } from "@sluice/worker-proxy";
import type { JobsContext } from "./options.js";
import type { JobDetails } from "./states.js";

/** The end of a job for its event. */
export type EventEnd = Pick<JobEvent, "outcome"> & Partial<Omit<JobEvent, "type" | "job" | "id" | "outcome">>;

/** Reports the end of a job. */
export function reportJob(
  { eventJob, getServer }: JobsContext,
  { eventId, user, requestId, model, startedAt }: JobDetails,
  end: EventEnd,
  env: unknown,
): void {
  const durationMs = Math.max(0, Date.now() - startedAt);
  const event = {
    type: "job",
    job: eventJob,
    id: eventId,
    userId: user,
    model,
    durationMs,
    ...end,
    requestId: end.requestId ?? requestId,
  };
  const isKnown = ([, value]: [string, unknown]) => value !== undefined;
  getServer().report(Object.fromEntries(Object.entries(event).filter(isKnown)) as unknown as JobEvent, env);
}

/** Logs what went wrong with a job, with its cause. */
export function logJob(
  { kind, getServer }: JobsContext,
  subject: string,
  error: unknown,
  env: unknown,
): Promise<void> {
  return getServer().log(`${kind}: ${subject}`, error, { env });
}
