import type { JobEvent } from "@sluice/worker-proxy";
import { type HostContext, logCause, type PluginServer } from "@sluice/worker-proxy/plugin";
import type { JobDetails } from "./states.js";
import type { JobStore } from "./store.js";

/** The server of the proxy. Jobs pass its environment on without reading it. */
export type JobServer = PluginServer<unknown>;

/** The end of a job for its event. */
export type EventEnd = Pick<JobEvent, "outcome"> & Partial<Omit<JobEvent, "type" | "job" | "id" | "outcome">>;

/** Reports the end of a job. */
export function reportJob(
  server: JobServer,
  job: JobEvent["job"],
  { eventId, user, requestId, model, startedAt }: JobDetails,
  end: EventEnd,
  env: unknown,
): void {
  const durationMs = Math.max(0, Date.now() - startedAt);
  const event = {
    type: "job",
    job,
    id: eventId,
    userId: user,
    model,
    durationMs,
    ...end,
    requestId: end.requestId ?? requestId,
  };
  const isKnown = ([, value]: [string, unknown]) => value !== undefined;
  server.report(Object.fromEntries(Object.entries(event).filter(isKnown)) as unknown as JobEvent, env);
}

/** Logs what went wrong with a job, with its cause. */
export function logJob(server: JobServer, subject: string, error: unknown, env: unknown): Promise<void> {
  return logCause(subject, error, { env, log: server.log });
}

/** The host and the key of a job, taken from its timer or from a request. */
export type TendContext = Pick<HostContext, "host" | "key" | "env">;

/** Checks one job. See {@link tendJob}. */
export type Tend = (context: TendContext, id: string) => Promise<void>;

/**
 * Checks one job. It settles and reports a job whose owner has ended, deletes an expired job, and retries a failed
 * settlement. Concurrent calls report a lost job once.
 *
 * @throws the error of the meter; the next check tries again
 */
export async function tendJob(
  { host, key, env }: TendContext,
  { store, eventJob }: { readonly store: JobStore; readonly eventJob: JobEvent["job"] },
  server: JobServer,
  id: string,
): Promise<void> {
  const { kind, lostCode } = store.options;
  const { lost, unsettled } = await host.run(key, store.tend, { id, by: crypto.randomUUID() });
  if (lost) {
    const { details, payment, wasSent } = lost;
    const how = wasSent
      ? "what was reserved for it is spent"
      : "it was not sent; what was reserved for it is given back";
    await logJob(server, `${kind}: ${details.eventId} was lost with its process; ${how}`, "", env);
    reportJob(server, eventJob, details, { outcome: "lost", code: lostCode, ...payment }, env);
  }
  if (!unsettled) return;
  const { ticket, spent, owner } = unsettled;
  await server.meter?.settleTicket?.(ticket, spent, env);
  await host.run(key, store.settled, { id, owner });
}
