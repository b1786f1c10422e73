import { logError } from "@sluice/worker-proxy/internal";
import type { RunnerSetup } from "../options.js";
import type { RunPlace } from "../place.js";
import { openBook } from "./book.js";
import { openScheduleRows } from "./schedule-rows.js";
import { openStarting, PAUSE_MS, type StartingParts } from "./starting.js";

/** Opens the schedules of a conversation. */
export function openSchedules<Env>(
  place: RunPlace<Env>,
  setup: RunnerSetup<Env>,
  parts: Pick<StartingParts, "turns" | "enter">,
) {
  const rows = openScheduleRows(place.state.storage.sql);
  const { keep, wake, ...book } = openBook(place, setup, rows);
  const { step } = openStarting(place, setup, { rows, keep, ...parts });
  return { ...book, alarm, turnEnded };

  /**
   * Starts what is due, and asks for the next alarm.
   *
   * @param isGone true once everything was deleted: what has waited meanwhile must not write anything
   */
  async function alarm(isGone: () => boolean): Promise<void> {
    if (!setup.schedules) return;
    for (const schedule of rows.due(Date.now())) {
      try {
        await step(schedule, isGone);
      } catch (error) {
        if (isGone()) return;
        logError(`runner: a schedule could not be started; it is tried again in a minute: ${error}`);
        rows.postpone(schedule.id, Date.now() + PAUSE_MS);
      }
      if (isGone()) return;
    }
    wake();
  }

  /** Looks at once at the schedules that wait for the end of a turn. */
  function turnEnded(): void {
    if (setup.schedules && rows.wakeWaiting(Date.now())) place.wakeBy(Date.now());
  }
}
