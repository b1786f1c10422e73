import type { Refusal } from "@sluice/worker-proxy/internal";
import { textOf } from "@sluice/worker-proxy/internal";
import { reported } from "../objects/job.js";
import type { ObjectState } from "../objects/object.js";
import { openReaders } from "../objects/readers.js";
import { objectRefusal } from "../objects/refusals.js";
import { errorLines } from "./reading.js";
import { type EventLog, openEventLog, type StreamState } from "./rows.js";
import type { StreamLogSetup } from "./setup.js";

const MOST_READERS = 8;

/** The stream of one object: its log, its readers, and its end, which comes once. */
export type Stream = ReturnType<typeof openStream>;

/** Opens the stream that is stored, or an empty one. */
export function openStream<Env>(
  { storage }: Pick<ObjectState, "storage">,
  { keepMs, logBytes }: Pick<StreamLogSetup<Env>, "keepMs" | "logBytes">,
) {
  const log = openEventLog(storage, logBytes);
  const readers = openReaders(MOST_READERS);
  const stream = {
    log,
    readers,
    /** Headers of the gateway's answer that go along with each reading. */
    headers: {} as Readonly<Record<string, string>>,
    /** Unix milliseconds until which the answer is kept. */
    keptUntil: 0,
    /** Reason of a stop. */
    stopped: undefined as "stopped" | "orphaned" | undefined,
    /** Closes the gateway's connection, if there is one. */
    hangUp: () => {},
    /** Resolves when nothing is being deleted. */
    forgetting: undefined as Promise<unknown> | undefined,
    begin,
    append,
    end,
    endWith,
    stop,
    empty,
    forget,
  };
  return stream;

  function begin(...begun: Parameters<EventLog["begin"]>): void {
    log.begin(...begun);
    stream.stopped = undefined;
  }

  function append(events: readonly string[]): void {
    // a stopped stream stores nothing more
    if (log.state === "open") log.append(events);
  }

  /** Ends the log of a job that is reported in the same turn, with what was spent for it. */
  function end(how: StreamState, code?: string, spent?: number): void {
    endLog(how, code, spent, true);
  }

  function endWith(problem: Refusal, spent: number | undefined): void {
    append([errorLines(problem)]);
    end("error", textOf(problem).code, spent);
  }

  function stop(reason: "stopped" | "orphaned"): void {
    if (log.state !== "open") return;
    stream.stopped = reason;
    const refusal = objectRefusal("stream_stopped");
    log.append([errorLines(refusal)]);
    // first the log, so that no other end is written; it is reported when the connection is closed
    endLog("cancelled", textOf(refusal).code);
    stream.hangUp();
  }

  function endLog(how: StreamState, code?: string, spent?: number, isReported = false): void {
    if (log.state !== "open") return;
    log.end(how, code, isReported && log.job ? reported(log.job, spent) : undefined);
    readers.wake();
    stream.keptUntil = Date.now() + keepMs;
    void storage.setAlarm(stream.keptUntil);
  }

  /** Deletes the events of an answer that has ended; its job stays. */
  function empty(): void {
    readers.close();
    log.empty();
  }

  async function forget(): Promise<void> {
    readers.close();
    // a request that comes meanwhile waits: its rows would be deleted with these
    stream.forgetting = Promise.all([storage.deleteAlarm(), log.forget()]);
    await stream.forgetting;
  }
}
