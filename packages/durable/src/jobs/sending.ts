import type { JobEvent, User } from "@sluice/worker-proxy";
import {
  type CallOutcome,
  type HostContext,
  type JobContext,
  logError,
  type openGatewayCall,
  type Payable,
  Refusal,
  type Usage,
} from "@sluice/worker-proxy/plugin";
import { findJobBudget } from "../budgets/job-budget.js";
import { createTicket, type Plan } from "../budgets/reservations.js";
import type { LiveJob } from "./live.js";
import type { JobServer, JobsContext } from "./options.js";
import type { JobOwner } from "./owner.js";
import { createRefusalHead, jobRefusal } from "./refusals.js";
import type { JobDetails, JobState } from "./states.js";
import type { Settlement } from "./store.js";

/** A request that a job sends to the gateway. It is JSON. */
export interface JobRequest {
  readonly id: string;
  readonly owner: string;
  /** The reservation that was made with the claim of the id; null without one. */
  readonly plan: Plan | null;
  readonly details: JobDetails;
  readonly user: User;
  readonly route: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** Approximate size of the body: the limit counts it. */
  readonly bodyBytes: number;
}

/** A request in flight, with its state so far. */
export interface Sending {
  readonly jobs: JobsContext;
  readonly server: JobServer;
  readonly context: JobContext;
  readonly request: JobRequest;
  readonly live: LiveJob;
  readonly owner: JobOwner;
  readonly call: ReturnType<typeof openGatewayCall>;
  account?: Awaited<ReturnType<JobServer["openAccount"]>>;
  /** Identifies the reservation to the meter. It is known before the meter reserves. */
  ticket?: string | undefined;
  /** Ends the count of the body. */
  releaseBody?: () => void;
  /** True once the gateway may have received the request. */
  isSent: boolean;
}

/** The end of a request. Its response is in `live`. */
export interface Ending {
  readonly state: Exclude<JobState, "claimed" | "sending" | "refused" | "lost">;
  /** The outcome of the job in its event. */
  readonly outcome: JobEvent["outcome"];
  readonly code?: string | undefined;
  /** The outcome of the call to the gateway, for the meter. */
  readonly callOutcome: CallOutcome;
  readonly usage?: Usage | undefined;
  readonly bytes?: number | undefined;
}

/** Returns the settlement of the reservation in the user's key; null without one. */
export function createSettlement({ plan }: JobRequest, spent = plan?.amount ?? 0): Settlement {
  return plan?.own ? { id: plan.id, spent } : null;
}

/**
 * Reserves the amounts that the claim did not reserve, up to the maximum cost of the request. The ticket is stored
 * first, so that the reservation can be released after a crash.
 */
export async function reserve(sending: Sending): Promise<void> {
  const { context, request, jobs, server, call } = sending;
  const { meter } = server;
  const { plan } = request;
  if (plan && plan.shared.length > 0) sending.ticket = JSON.stringify(createTicket(plan));
  await call.connect();
  if (!meter) return;
  const keepTicket = async (ticket: string, reserved: number) => {
    sending.ticket = ticket;
    const { id, owner } = request;
    const input = { id, owner, state: "claimed", ticket, payment: { reserved, spent: 0 } } as const;
    if (!(await context.host.run(context.key, jobs.store.storeTicket, input)).isOwned)
      throw new Error("the job was settled as lost before it was paid for");
  };
  const payable = createPayable(context, request);
  const budget = plan && findJobBudget(meter);
  const reserveShared = budget ? () => budget.reserveShared(context.host, plan, payable) : undefined;
  sending.account = await server.openAccount({ ...payable, keepTicket }, reserveShared);
}

/**
 * Sends the request to the gateway, after the state `sending` is stored.
 *
 * @returns the type of the response
 * @throws {Refusal} for an error response, and without a response
 */
export async function send(sending: Sending): Promise<string> {
  const { context, request, owner, account, call } = sending;
  const { plan, path, body, headers } = request;
  const isStored = plan ? plan.shared.length === 0 : !account;
  if (!isStored) {
    const { id, owner: name } = request;
    const ticket = (plan ? sending.ticket : account?.ticket) ?? null;
    const payment = { reserved: account?.reserved };
    const input = { id, owner: name, state: "sending", ticket, payment } as const;
    const storing = context.host.run(context.key, sending.jobs.store.storeTicket, input);
    owner.note(
      await storing.catch((cause: unknown) => {
        throw new Refusal("plugin_unavailable", { problem: "plugins: the database failed", cause });
      }),
    );
  }
  if (owner.gaveUp) throw jobRefusal("stream_stopped");
  sending.isSent = true;
  return await call.send({ method: "POST", path, body, headers });
}

/** Stores a JSON response unchanged. A response that contains a key is replaced by a refusal. */
export async function readWhole(
  { jobs, call, live, owner }: Sending,
  maxCharacters: number,
): Promise<Ending> {
  const { text, outcome, usage } = await call.readJSON(maxCharacters);
  const paid = { callOutcome: outcome, usage };
  if (text === undefined) {
    live.head = createRefusalHead(new Refusal("upstream_type"));
    return { state: "failed", outcome: "error", code: "upstream_type", ...paid };
  }
  const { headers, metadata } = call;
  const status = metadata.upstreamStatus ?? 200;
  if (!owner.setText(text, { status, headers, type: "application/json" }))
    logError(`${jobs.kind}: a response of ${text.length} characters is not stored; see maxBytes`);
  return { state: "complete", outcome: outcome === "refused" ? "error" : "complete", ...paid };
}

/** Returns the part of a request that the meter receives. */
export function createPayable(
  { env }: Pick<HostContext, "env">,
  { user, details: { model }, route, body }: Pick<JobRequest, "user" | "details" | "route" | "body">,
): Payable<never> {
  const known = { user, route, body, ...(model !== undefined && { model }) };
  return { env: env as never, context: undefined, ...known };
}
