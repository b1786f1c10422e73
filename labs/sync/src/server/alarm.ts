import type { ObjectStorage } from "@sluice/durable";

/** Opens the only alarm of an object, of which the earliest time counts. */
export function openAlarm(storage: ObjectStorage) {
  /** Its time; undefined where that is not known yet. */
  let at: number | null | undefined;
  return { ready, wakeBy, forget };

  /** Reads its time, so that `wakeBy` sets it in the turn of a write: none is left of which no alarm knows. */
  async function ready(): Promise<void> {
    if (at === undefined) at = await storage.getAlarm();
  }

  /** Notes that there is none any more: it has rung, or was deleted with everything. */
  function forget(): void {
    at = null;
  }

  /** Sets the alarm, unless there is an earlier one. */
  async function wakeBy(time: number): Promise<void> {
    if (typeof at === "number" && at <= time) return;
    at = time;
    await storage.setAlarm(time);
  }
}
