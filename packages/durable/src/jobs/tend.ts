import type { HostContext, JobEvent } from "@sluice/worker-proxy";
import { type JobServer, logJob, reportJob } from "./server.js";
import type { JobStore } from "./store.js";

/** The place from which a job is tended: its own, or that of a request. */
export type TendContext = Pick<HostContext, "host" | "key" | "env">;

/**
 * Looks at one job: settles and reports it if its owner is gone, deletes it if it is over, and settles a reservation that
 * could not be settled before. Two that do it at once do it once.
 *
 * @throws the error of the meter; the next look tries again
 */
export async function tendJob(
  { host, key, env }: TendContext,
  { store, eventKind }: { readonly store: JobStore; readonly eventKind: JobEvent["kind"] },
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
    reportJob(server, eventKind, details, { outcome: "lost", code: lostCode, ...payment }, env);
  }
  if (!unsettled) return;
  const { ticket, spent, owner } = unsettled;
  await server.settings.way.meter?.settleTicket?.(ticket, spent, env);
  await host.run(key, store.settled, { id, owner });
}
