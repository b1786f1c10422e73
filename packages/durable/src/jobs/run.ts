import {
  type CallOutcome,
  type Job,
  type JobContext,
  openGatewayCall,
  Refusal,
  waitAtMost,
} from "@sluice/worker-proxy/plugin";
import { job } from "../host/define.js";
import { checkJob } from "./check.js";
import { openLive } from "./live.js";
import type { JobsContext } from "./options.js";
import { type GiveUp, JobOwner } from "./owner.js";
import { createRefusalHead, jobRefusal } from "./refusals.js";
import { type EventEnd, logJob, reportJob } from "./report.js";
import { createSettlement, type Ending, type JobRequest, reserve, type Sending, send } from "./sending.js";
import { EVENTS, formatErrorEvent } from "./serve-reader.js";

/** Maximum time that the end of a job waits for its settlement, in milliseconds. */
const WAIT_MS = 2000;

/** Creates the job that sends one request to the gateway, stores its response, and settles it. */
export function createRun(jobs: JobsContext): Job<JobRequest> {
  return job(`${jobs.kind}.run`, 1, async (context: JobContext, request: JobRequest) => {
    const server = jobs.getServer();
    const { live, drop } = openLive(jobs, context, request.id);
    const call = openGatewayCall(server, context.env);
    const owner = new JobOwner({ jobs, context, live, request, onGiveUp: () => call.stop() });
    const sending: Sending = { jobs, server, context, request, live, owner, call, isSent: false };
    try {
      await runJob(sending);
    } catch (error) {
      // a bug in this code or in the meter: the row is settled as lost when its lease ends
      live.finish("lost", jobs.lostCode);
      throw error;
    } finally {
      call.close(true);
      owner.close();
      drop();
      sending.releaseBody?.();
    }
  });
}

async function runJob(sending: Sending): Promise<void> {
  let ending: Ending;
  const { server, request } = sending;
  try {
    sending.releaseBody = server.holdBody(request.bodyBytes, request.user);
    await reserve(sending);
    ending = await sending.jobs.respond(sending, await send(sending));
  } catch (error) {
    return await fail(sending, Refusal.from(error));
  }
  const { gaveUp } = sending.owner;
  await (gaveUp ? giveUp(sending, gaveUp, ending) : finish(sending, ending));
}

/**
 * Settles the reservation of a job, stores its end and reports it, each once. It waits at most {@link WAIT_MS} for
 * the meter, because readers of a stream wait for its end.
 */
async function finish(sending: Sending, ending: Ending): Promise<void> {
  const { context, owner, account, call, request, jobs } = sending;
  const { state, code, callOutcome, usage, outcome, bytes } = ending;
  const paid = account?.close(callOutcome, usage);
  const payment = { reserved: paid?.reserved, spent: paid?.spent };
  const isSettled = !account?.ticket || (await waitAtMost(WAIT_MS, paid?.settled ?? notSettled)) === true;
  const settlement = createSettlement(request, paid?.spent);
  const dropped = await owner.end({ state, code, payment, settlement, isSettled });
  if (dropped) {
    const requestId = call.headers["x-request-id"];
    report(sending, { outcome, code, usage, bytes, requestId, ...call.metadata, ...payment });
  }
  for (const eventId of dropped ?? []) {
    const details = { eventId, user: request.user.id, startedAt: Date.now() };
    const end = { outcome: "dropped", code: "too_many_stored" } as const;
    reportJob(jobs, details, end, context.env);
  }
  if (isSettled || !(await paid?.settled)) return;
  const { id, owner: name } = request;
  // if this fails, a timer settles again, which changes nothing
  await context.host.run(context.key, jobs.store.settled, { id, owner: name }).catch(() => {});
}

const notSettled = Promise.resolve(false);

async function fail(sending: Sending, refusal: Refusal): Promise<void> {
  const { call, owner, context, isSent, jobs } = sending;
  call.close();
  const outcome: CallOutcome = isSent ? (refusal.details.outcome ?? "unknown") : "not_reached";
  if (owner.gaveUp) return await giveUp(sending, owner.gaveUp, { callOutcome: outcome });
  const { status, code } = refusal;
  if (status >= 500) await logJob(jobs, `${status} ${code}`, refusal, context.env);
  const jobOutcome = status < 500 ? "refused" : "error";
  if (jobs.isFree(sending, refusal, outcome))
    return await free(sending, refusal, { outcome: jobOutcome, callOutcome: outcome });
  storeFailure(sending, refusal);
  const ending = { state: "failed", outcome: jobOutcome, code, callOutcome: outcome } as const;
  await finish(sending, { ...ending, ...call.metadata });
}

/** Ends a job that cost nothing, and frees its id. */
async function free(
  sending: Sending,
  refusal: Refusal,
  end: Pick<Ending, "outcome" | "callOutcome">,
): Promise<void> {
  const { account, owner, live, call, ticket, request, context, jobs } = sending;
  const { code, status } = refusal;
  const paid = account?.close(end.callOutcome);
  // a meter that refuses (below 500) has reserved nothing; a meter that failed may have reserved
  const isSettled = ticket === undefined || (paid ? await paid.settled : status < 500);
  const isFreed = await owner.free(createSettlement(request, 0), isSettled);
  live.head = createRefusalHead(refusal);
  live.finish("refused", code);
  const amounts = account && { reserved: paid?.reserved, spent: paid?.spent };
  if (isFreed) report(sending, { outcome: end.outcome, code, ...call.metadata, ...amounts });
  if (!isSettled)
    await checkJob(jobs, context, request.id).catch((error) =>
      logJob(jobs, "a reservation could not be settled; it is tried again", error, context.env),
    );
}

/** Ends a job that was stopped, or that another process has settled as lost. */
async function giveUp(
  sending: Sending,
  reason: GiveUp,
  known: Pick<Ending, "callOutcome" | "usage" | "bytes">,
): Promise<void> {
  const { account, live, call, isSent, jobs } = sending;
  const callOutcome = isSent ? known.callOutcome : "not_reached";
  if (reason === "lost") {
    // the other process has settled and reported it
    await account?.close(callOutcome, known.usage)?.settled;
    return live.finish("lost", jobs.lostCode);
  }
  const outcome = reason === "abandoned" ? "abandoned" : "stopped";
  // a create is stopped by the erasure of its user, which deletes everything, even the key
  if (!jobs.isStream) return await free(sending, jobRefusal("user_erased"), { outcome, callOutcome });
  live.head ??= { status: 200, headers: call.headers, type: EVENTS };
  storeFailure(sending, jobRefusal("stream_stopped"));
  await finish(sending, { ...known, state: "stopped", outcome, code: "stream_stopped", callOutcome });
}

/** Stores a failure as the response, and as an event for readers of a stream. */
function storeFailure({ live, owner, jobs }: Sending, refusal: Refusal): void {
  if (jobs.isStream) owner.addEvents([formatErrorEvent(refusal)]);
  live.head ??= createRefusalHead(refusal);
}

function report({ jobs, request, context }: Sending, end: EventEnd): void {
  reportJob(jobs, request.details, end, context.env);
}
