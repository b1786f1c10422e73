import type { Paid } from "@sluice/worker-proxy/internal";
import { logError, readBinding, tooMany } from "@sluice/worker-proxy/internal";
import { type JobEnd, type KeptJob, report, reported, settleJob, settleLater } from "../objects/job.js";
import { type ObjectState, objectNamed } from "../objects/object.js";
import { type UserIndex, userIndexIn } from "../objects/user-index.js";
import type { EventLog } from "./rows.js";
import { BEAT_MS, OWN, type StreamCaller, type StreamLogSetup } from "./setup.js";

/** Opens the end of a stream's job: its report, its settlement, and the user's place. */
export function openSettling<Env>(
  state: ObjectState,
  env: Env,
  { way, namespace, keptPerUser, onEvent }: StreamLogSetup<Env>,
  log: EventLog,
) {
  const { limits, timeout, meter } = way;
  let settling: Promise<unknown> | undefined;
  /** The payment of the job that is being settled. */
  let paid: Paid | undefined;
  /** Unix milliseconds until which the answer is kept. */
  let keptUntil = 0;
  return {
    /** Resolves when nothing is being settled. */
    done: async () => void (await settling),
    takePlace,
    finish,
    resume,
    again,
    release,
  };

  /** @throws {Refusal} 429 where the user has as many streams open at the gateway as may be */
  async function takePlace({ id, userName, startedAt }: KeptJob, { isPublic }: StreamCaller): Promise<void> {
    const mostOpen = isPublic ? undefined : limits.maxStreamsPerUser;
    // beyond the end of the call: the alarm of an object that was lost comes first
    const endsAt = startedAt + timeout.totalMs + 4 * BEAT_MS;
    if (!(await (await indexOf(userName)).claim({ id, mostOpen, endsAt })))
      throw tooMany("too_many_streams", 1000);
  }

  async function indexOf(userName: string): Promise<UserIndex> {
    return userIndexIn(await readBinding("streamLogObject: namespace", namespace, env), userName);
  }

  /** Reports the end of the job, settles it, and gives the user's place back. */
  function finish(end: JobEnd, until: number, payment?: Paid): void {
    const { job } = log;
    if (!job) return;
    paid = payment;
    reportOnce(job, { ...end, ...paidAs(paid) });
    settleNow(until, true);
  }

  /** Settles a job that was reported. */
  function resume(until: number): void {
    settleNow(until, false);
  }

  function settleNow(until: number, isFirst: boolean): void {
    keptUntil = until;
    if (!log.job) return;
    settling = settle(log.job, isFirst);
    state.waitUntil(settling);
  }

  /** Reports the end of the job, which is stored as reported in the same turn: nothing can be lost in between. */
  function reportOnce(job: KeptJob, end: JobEnd): void {
    if (!job.isReported) log.keepReported(reported(job, end.spent));
    report(onEvent, "answer", job, end, env);
  }

  /** Settles a job whose settlement has failed, or waits for it. Returns false where it failed again. */
  async function again(until: number): Promise<boolean> {
    await settling;
    if (!log.job) return true;
    keptUntil = until;
    settling = settle(log.job, false);
    await settling;
    return !log.job;
  }

  async function settle(job: KeptJob, isFirst: boolean): Promise<void> {
    try {
      await settleJob(meter, job, paid, env);
      const index = await indexOf(job.userName);
      const ids = await index.end({ id: job.id, keptUntil, mostKept: keptPerUser });
      log.settled();
      // the alarm may be the one for another attempt: without a job, it would delete the answer
      if (!isFirst) void state.storage.setAlarm(keptUntil);
      if (ids.length > 0) await drop(ids, job, index);
    } catch {
      logError(
        `streamLogObject: stream ${job.id} could not be settled; it is tried again in ${BEAT_MS / 1000} s`,
      );
      await state.storage.setAlarm(Date.now() + BEAT_MS);
    }
  }

  /** Empties the oldest of a user's answers, which are too many. */
  async function drop(ids: readonly string[], { user, userName }: KeptJob, index: UserIndex): Promise<void> {
    const objects = await readBinding("streamLogObject: namespace", namespace, env);
    for (const id of ids) {
      const object = objectNamed(objects, `${userName}:${id}`);
      await object.fetch(new Request(`https://stream-log.invalid${OWN.drop}`, { method: "DELETE" }));
      const dropped = { id, user, userName, startedAt: Date.now() };
      report(onEvent, "answer", dropped, { outcome: "dropped", code: "too_many_kept" }, env);
    }
    await index.forget(ids);
  }

  /** Reports and settles the job of an answer of which nothing is kept. */
  async function release(end: JobEnd, paid?: Paid): Promise<void> {
    const { job } = log;
    if (!job) return;
    reportOnce(job, { ...end, ...paidAs(paid) });
    try {
      await settleJob(meter, job, paid, env);
      await (await indexOf(job.userName)).forget([job.id]);
    } catch {
      logError(`streamLogObject: stream ${job.id} could not be settled; its place and its amount end later`);
      state.waitUntil(settleLater(meter, job, paid, env));
    }
  }
}

function paidAs(paid: Paid | undefined): Pick<JobEnd, "reserved" | "spent"> {
  return paid ? { reserved: paid.reserved, spent: paid.spent } : {};
}
