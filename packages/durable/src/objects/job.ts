import type { JobEvent, JobOutcome, Meter, OnJobEvent, Usage } from "@sluice/worker-proxy";
import { logError, notifyOf } from "@sluice/worker-proxy/internal";

/** A job as it is stored until it is settled. Where its process is lost, the next process settles and reports it. */
export interface KeptJob {
  readonly id: string;
  /** The id of the user, for the event. */
  readonly user: string;
  /** The user's part of the object's name. */
  readonly userName: string;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** See `Reservation`. */
  readonly ticket?: string | undefined;
  readonly reserved?: number | undefined;
  /** True until the reservation is made. Before that nothing is sent to the gateway, and so nothing is spent. */
  readonly isReserving?: boolean | undefined;
  /** True once its event was sent: an object that replaces a lost one does not report it again. */
  readonly isReported?: boolean | undefined;
  /** The amount in its event; undefined where it is not known. */
  readonly spent?: number | undefined;
}

/** The end of a job, as far as it is known. */
export interface JobEnd
  extends Pick<JobEvent, "code" | "upstreamStatus" | "attempts" | "bytes" | "requestId"> {
  readonly outcome: JobOutcome;
  readonly usage?: Usage | undefined;
  readonly reserved?: number | undefined;
  readonly spent?: number | undefined;
}

/** Reports the end of a job. */
export function report<Env>(
  onEvent: OnJobEvent<Env> | undefined,
  kind: JobEvent["kind"],
  { id, user, requestId, model, startedAt, reserved }: KeptJob,
  end: JobEnd,
  env: Env,
): void {
  const event = { kind, id, user, model, reserved, durationMs: Date.now() - startedAt, ...end };
  const known = { ...event, requestId: end.requestId ?? requestId };
  const isKnown = ([, value]: [string, unknown]) => value !== undefined;
  notifyOf(onEvent, Object.fromEntries(Object.entries(known).filter(isKnown)) as unknown as JobEvent, env);
}

/** Returns the job as it is stored in the turn in which its event is sent. */
export function reported(job: KeptJob, spent: number | undefined): KeptJob {
  return { ...job, isReported: true, spent };
}

/** The amount that is spent for a job that was lost with its process; undefined where it is not known. */
export function spentOnLost({ isReserving, reserved, isReported, spent }: KeptJob): number | undefined {
  if (isReserving) return 0;
  return isReported ? spent : reserved;
}

/**
 * Settles the reservation of a job, unless it was settled. Spends the amount in its event; all of it where that is not
 * known; nothing where the request was not sent yet.
 */
export async function settleJob<Env>(
  meter: Meter<Env> | undefined,
  job: Pick<KeptJob, "ticket" | "isReserving" | "spent">,
  paid: { readonly spent: number | undefined; readonly settled: Promise<boolean> } | undefined,
  env: Env,
): Promise<void> {
  const { ticket, isReserving, spent } = job;
  if (ticket === undefined || (await paid?.settled)) return;
  // a request whose meter failed, or had not answered yet, was never sent
  await meter?.settleTicket?.(ticket, isReserving ? 0 : paid ? paid.spent : spent, env);
}

/** Pauses between attempts to settle a job of which nothing is kept, in milliseconds. */
const PAUSES_MS = [2, 4, 8, 16, 32, 64, 128, 256].map((seconds) => seconds * 1000);

/** Settles a job of which nothing is kept, and whose settlement has failed. Where it fails for minutes, the hold of the meter ends it. */
export async function settleLater<Env>(
  ...[meter, job, paid, env]: Parameters<typeof settleJob<Env>>
): Promise<void> {
  for (const pause of PAUSES_MS) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      return await settleJob(meter, job, paid, env);
    } catch {
      // the next attempt may find the budget again
    }
  }
  logError("durable: what was set aside could not be settled for minutes; it is spent when its time is over");
}
