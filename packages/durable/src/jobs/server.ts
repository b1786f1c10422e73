import type { JobEvent } from "@sluice/worker-proxy";
import { logCause, type Server } from "@sluice/worker-proxy/internal";
import type { JobDetails } from "./states.js";

/** The server of the proxy. Jobs pass its environment on, and do not read it. */
export type JobServer = Server<unknown>;

/** The end of a job for its event. */
export type EventEnd = Pick<JobEvent, "outcome"> & Partial<Omit<JobEvent, "kind" | "id" | "outcome">>;

/** Reports the end of a job. */
export function reportJob(
  server: JobServer,
  kind: JobEvent["kind"],
  { eventId, user, requestId, model, startedAt }: JobDetails,
  end: EventEnd,
  env: unknown,
): void {
  const durationMs = Math.max(0, Date.now() - startedAt);
  const event = { kind, id: eventId, user, model, durationMs, ...end, requestId: end.requestId ?? requestId };
  const isKnown = ([, value]: [string, unknown]) => value !== undefined;
  server.report(Object.fromEntries(Object.entries(event).filter(isKnown)) as unknown as JobEvent, env);
}

/** Logs what went wrong with a job, with its cause. */
export function logJob(server: JobServer, subject: string, error: unknown, env: unknown): Promise<void> {
  return logCause(subject, error, { env, log: server.settings.log });
}
