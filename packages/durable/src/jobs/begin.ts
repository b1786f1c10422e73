import {
  type Exhausted,
  type HostContext,
  type Job,
  type JSONValue,
  Refusal,
  type Source,
  waitAtMost,
} from "@sluice/worker-proxy/plugin";
import { findJobBudget } from "../budgets/job-budget.js";
import { logOverdue } from "../budgets/operations.js";
import { createTicket, type Plan, readRefusal } from "../budgets/reservations.js";
import { job, source } from "../host/define.js";
import { rejectOnAbort } from "../shared/reject-on-abort.js";
import { checkJob } from "./check.js";
import { readLive } from "./live.js";
import type { JobsContext } from "./options.js";
import { jobRefusal } from "./refusals.js";
import { logJob, reportJob } from "./report.js";
import { createPayable, createSettlement, type JobRequest } from "./sending.js";
import { type Begun, serveReader } from "./serve-reader.js";
import { ALIVE_MS } from "./states.js";
import type { Claimed, Free } from "./store.js";

/** A request to send once for its id. */
export type Begin = Omit<JobRequest, "owner" | "plan"> & {
  /** Digest of the request. */
  readonly fingerprint: string;
  /** Maximum number of open jobs of the user; null for any number. */
  readonly maxOpen: number | null;
};

/** Maximum number of attempts to claim an id. Between two attempts a lost job with the same id is settled. */
const MAX_CLAIMS = 4;
/** Pause after a failed attempt to free an id, and the maximum time that a client waits for it, in milliseconds. */
const RETRY_MS = 1000;
const FREE_MS = 2000;

/**
 * Creates the job that frees the id of a request that was not sent. It retries until shortly before the lease of the
 * id ends. It is a job, so that it continues when the client disconnects, and ends when the host closes.
 */
export function createFree({ kind, store }: JobsContext): Job<Free> {
  return job(`${kind}.retryFree`, 1, async ({ host, key, signal }, input: Free) => {
    const until = Date.now() + ALIVE_MS - FREE_MS - RETRY_MS;
    for (;;) {
      await Promise.race([new Promise((resolve) => setTimeout(resolve, RETRY_MS)), rejectOnAbort(signal)]);
      try {
        return void (await host.run(key, store.free, input));
      } catch (error) {
        if (Date.now() >= until) throw error;
      }
    }
  });
}

/**
 * Creates the source that begins a request in the process or object of its key, and reads the response. One transaction
 * claims the id, reserves the user's budget and stores the state: `sending`, or `claimed` if the meter reserves more.
 */
export function createBegin(jobs: JobsContext, run: Job<JobRequest>, retryFree: Job<Free>): Source<Begin> {
  const { kind, maxJobs = 0, store, getServer } = jobs;
  return source(`${kind}.begin`, (context, request) => {
    const input = { id: request.id, mode: "response", after: 0 } as const;
    return serveReader(jobs, context, input, () => begin(context, request));
  });

  async function begin(context: HostContext, request: Begin): Promise<Begun> {
    const { id } = request;
    for (let attempt = 1; attempt <= MAX_CLAIMS; attempt += 1) {
      // created here, so that another process that begins the same request is a different owner
      const owner = crypto.randomUUID();
      const plan = await planReservation(context, request);
      const job = { ...request, owner, plan };
      const claimed = await claim(context, request, owner, plan).catch(async (error: unknown) => {
        // the claim may be stored although the operation failed
        await freeUnsent(context, job);
        throw error;
      });
      if (claimed.lost) logOverdue(claimed.lost);
      if (claimed.result === "stale") {
        await settleStale(context, id);
        continue;
      }
      if (claimed.result === "exhausted") await refuseExhausted(context, request, plan, claimed);
      if (claimed.result === "different") throw jobRefusal("idempotency_mismatch");
      if (claimed.result === "crowded")
        throw jobRefusal("too_many_keys", { what: maxJobs, headers: { "retry-after": "3600" } });
      if (claimed.result === "full")
        throw new Refusal("too_many_streams", {
          limit: "maxStreamsPerUser",
          what: 1,
          headers: { "retry-after": "1" },
        });
      if (claimed.result === "known") return { isReplayed: true };
      await start(context, job);
      return { live: readLive(context, store, id) };
    }
    throw jobRefusal("job_unavailable");
  }

  async function planReservation(context: HostContext, request: Begin): Promise<Plan | null> {
    const budget = findJobBudget(getServer().meter);
    try {
      return (await budget?.plan(createPayable(context, request))) ?? null;
    } catch (cause) {
      throw new Refusal("budget_unavailable", { problem: "plugins: reserve failed", cause });
    }
  }

  async function claim(
    { host, key }: HostContext,
    { id, fingerprint, details, maxOpen }: Begin,
    owner: string,
    plan: Plan | null,
  ): Promise<Claimed> {
    const { meter } = getServer();
    // shared limits are reserved after the claim
    const state = meter && (!plan || plan.shared.length > 0) ? "claimed" : "sending";
    const ticket = plan && JSON.stringify(createTicket(plan));
    const input = { id, owner, fingerprint, details: { ...details }, maxOpen, state, plan, ticket } as const;
    return host.run(key, store.claim, input);
  }

  /** @throws {Refusal} always */
  async function refuseExhausted(
    context: HostContext,
    request: Begin,
    plan: Plan | null,
    { reserving }: Claimed,
  ): Promise<void> {
    const exhausted = plan?.own && reserving && readRefusal(plan.own, reserving);
    const reserve = async () => exhausted as Exhausted;
    const payable = createPayable(context, request);
    await getServer()
      .openAccount(payable, reserve)
      .catch((refusal: Refusal) => {
        const { code } = refusal;
        reportJob(jobs, request.details, { outcome: "refused", code }, context.env);
        throw refusal;
      });
  }

  /** Starts the job of a request. If the start fails, nothing was sent, and the id is freed. */
  async function start(context: HostContext, request: JobRequest): Promise<void> {
    try {
      // the body and the user are JSON, but their types don't say so
      await context.host.start<JSONValue>(context.key, run as never, request as never);
    } catch (cause) {
      await freeUnsent(context, request);
      throw jobRefusal("job_unavailable", { cause });
    }
  }

  /** Frees the id of a request that was not sent. The client waits at most {@link FREE_MS}. */
  async function freeUnsent({ host, key, env }: HostContext, request: JobRequest): Promise<void> {
    const { id, owner } = request;
    const input = { id, owner, settlement: createSettlement(request, 0), isSettled: true };
    const freed = host
      .run(key, store.free, input)
      .catch(() => host.start(key, retryFree, input))
      .catch((error) => logJob(jobs, "an id could not be freed", error, env));
    await waitAtMost(FREE_MS, freed);
  }

  async function settleStale(context: HostContext, id: string): Promise<void> {
    try {
      await checkJob(jobs, context, id);
    } catch (cause) {
      throw new Refusal("budget_unavailable", { problem: `${kind}: a lost job could not be settled`, cause });
    }
  }
}
