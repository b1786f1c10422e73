import { logError } from "@sluice/worker-proxy/internal";
import { type Keeper, keyOf, type ObjectName } from "./keeper.js";

/** The alarms of the objects of this process, and of those that are in no memory. */
export interface Alarms {
  /** Runs alarms from now on: those that came due while no process ran come first. */
  start(): void;
  /** Looks for alarms at this time at the latest. */
  wakeAt(at: number): void;
  /** Runs the alarm of an object. Where that can't be opened, or can't keep what it did, it is tried again, ever later. */
  ring(object: ObjectName): Promise<void>;
  stop(): void;
}

/** Most alarms that run at a time. */
const MOST_ALARMS = 64;
/** Most alarms that wait for another try; beyond it, no others are begun. */
const MOST_RESTING = 1_000;
/** Pause before alarms are looked for again where one that is due still runs, in milliseconds. */
const AGAIN_MS = 1_000;
/** Longest pause after a failure, in milliseconds; the first is `AGAIN_MS`, and each is twice as long as the one before. */
const LONGEST_PAUSE_MS = 5 * 60_000;
/** Longest time of a timer, in milliseconds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Opens the alarms of a keeper. An object that is in memory rings by itself; the keeper finds the others.
 *
 * @param run runs the alarm of an object, if it is due
 */
export function openAlarms(keeper: Keeper, run: (object: ObjectName) => Promise<void>): Alarms {
  /** Objects whose alarm runs, or waits for another try. */
  const ringing = new Set<string>();
  let resting = 0;
  /** Times in a row that alarms could not be read. */
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let isRunning = false;
  keeper.onAlarm?.(wakeAt);
  return { start, wakeAt, ring, stop };

  function start(): void {
    isRunning = true;
    void ringDue();
  }

  function stop(): void {
    isRunning = false;
    clearTimeout(timer);
  }

  function wakeAt(at: number): void {
    if (!isRunning || at >= timerAt) return;
    clearTimeout(timer);
    timerAt = at;
    const delay = Math.min(Math.max(at - Date.now(), 0), LONGEST_TIMER_MS);
    timer = setTimeout(() => void ringDue(), delay);
    timer.unref();
  }

  /** Runs the alarms that are due, and sets the timer for the next one. */
  async function ringDue(): Promise<void> {
    timerAt = Number.POSITIVE_INFINITY;
    const free = resting < MOST_RESTING ? MOST_ALARMS - (ringing.size - resting) : 0;
    if (free <= 0) return wakeAt(Date.now() + AGAIN_MS);
    try {
      const { objects, next } = await keeper.due(free + ringing.size);
      failures = 0;
      for (const name of objects) void ring(name);
      // the earliest one may be one that runs
      if (next !== null) wakeAt(ringing.size > 0 ? Math.max(next, Date.now() + AGAIN_MS) : next);
    } catch (error) {
      if (!isRunning) return;
      failures += 1;
      logError(`durable: alarms could not be read; ${againAfter(failures)}: ${error}`);
      wakeAt(Date.now() + pauseAfter(failures));
    }
  }

  async function ring(name: ObjectName): Promise<void> {
    const key = keyOf(name);
    if (ringing.has(key)) return;
    ringing.add(key);
    for (let tries = 1; isRunning; tries += 1) {
      try {
        await run(name);
        break;
      } catch (error) {
        if (!isRunning) break;
        logError(`durable: an alarm of ${name.binding} could not run; ${againAfter(tries)}: ${error}`);
        await rest(tries);
      }
    }
    ringing.delete(key);
  }

  async function rest(tries: number): Promise<void> {
    resting += 1;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, pauseAfter(tries)).unref();
    });
    resting -= 1;
  }
}

/** Returns the pause after a failure, the first of them 1. */
function pauseAfter(failures: number): number {
  return Math.min(AGAIN_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
}

function againAfter(failures: number): string {
  return `it is tried again in ${pauseAfter(failures) / 1000} s`;
}
