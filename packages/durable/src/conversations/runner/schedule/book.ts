import type { RunnerSetup } from "../options.js";
import type { Changes, RunPlace } from "../place.js";
import { change } from "../records.js";
import { turnRefusal } from "../refusals.js";
import { askedSchedule, scheduleIdIn } from "./asked.js";
import type { openScheduleRows } from "./schedule-rows.js";
import type { Schedule, ScheduleRequest } from "./shape.js";
import { timesAround } from "./times.js";

/** Beginning of the keys of the records by which devices see schedules; the id follows. */
const KEY = "/schedule/";

/** Longest time from now to the only start of a schedule, in milliseconds. */
const AHEAD_MS = 366 * 86_400_000;

/** Opens the list of a conversation's schedules. Its rows are the truth; records let devices see them. */
export function openBook<Env>(
  place: RunPlace<Env>,
  { schedules: options }: RunnerSetup<Env>,
  rows: ReturnType<typeof openScheduleRows>,
) {
  /** Ids of the schedules that are being made. */
  const coming: string[] = [];
  return { ask, list: () => rows.list(), remove, keep, wake, putBack };

  /** Makes a schedule, or changes one. @throws {Refusal} */
  async function ask(body: Readonly<Record<string, unknown>> | undefined, user: string): Promise<Schedule> {
    if (!options) throw turnRefusal("schedules_off");
    const asked = askedSchedule(body);
    const same = sameAs(asked, user);
    if (same) return same;
    nextOf(asked, Date.now());
    return rows.find(asked.id)?.nextAt == null
      ? await makeNew(asked, user, options.most)
      : await make(asked, user);
  }

  /** Makes a schedule that counts: those that are asked for at once do, too. @throws {Refusal} */
  async function makeNew(asked: ScheduleRequest, user: string, most: number): Promise<Schedule> {
    coming.push(asked.id);
    try {
      if (!(await place.claimSchedules(new Set(coming).size, most)))
        throw turnRefusal("too_many_schedules", { what: most });
      const made = await make(asked, user);
      leave(asked.id);
      return made;
    } catch (error) {
      leave(asked.id);
      await giveBack();
      throw error;
    }
  }

  function leave(id: string): void {
    coming.splice(coming.indexOf(id), 1);
  }

  /** Corrects the count at the index, which no note does for a conversation to which nothing was written. */
  async function giveBack(): Promise<void> {
    try {
      await place.claimSchedules(new Set(coming).size, Number.MAX_SAFE_INTEGER);
    } catch {
      // the user was erased, or the index can't be reached: the next note corrects it
    }
  }

  /** Stores a schedule that may be there. @throws {Refusal} */
  async function make(asked: ScheduleRequest, user: string): Promise<Schedule> {
    await place.room(2 * JSON.stringify(asked).length + 1_000);
    // nothing is awaited from here on: of two devices with one schedule, one makes it
    const known = sameAs(asked, user);
    if (known) return known;
    const now = Date.now();
    const nextAt = nextOf(asked, now);
    const before = rows.find(asked.id);
    const schedule = { ...asked, user, createdAt: before?.createdAt ?? now, nextAt };
    keep(schedule);
    forgetEnded(now);
    // the list of the user gets a conversation that no device has begun
    if (before?.nextAt == null) place.wakeBy(now);
    return schedule;
  }

  /** Returns the schedule that this request has made before. @throws {Refusal} 410 for one that was removed */
  function sameAs(asked: ScheduleRequest, user: string): Schedule | undefined {
    const known = rows.find(asked.id);
    if (known?.code === "removed") throw turnRefusal("schedule_removed");
    if (!known || known.user !== user || known.code === "not_permitted") return undefined;
    return JSON.stringify(requestOf(known)) === JSON.stringify(asked) ? known : undefined;
  }

  function remove(id: unknown): void {
    const known = rows.find(scheduleIdIn(id, "schedule"));
    if (!known || known.code === "removed") return;
    keep({ ...known, nextAt: null, endedAt: Date.now(), code: "removed" });
    forgetEnded(Date.now());
  }

  /** Writes a schedule, and the record of it. */
  function keep(schedule: Schedule): void {
    rows.keep(schedule);
    place.write(change(KEY + schedule.id, recordOf(schedule)));
    wake();
  }

  function forgetEnded(now: number): void {
    place.write(new Map(rows.forgetEnded(now).map((id) => [KEY + id, undefined])));
  }

  /** Asks for the alarm of the next start. */
  function wake(): void {
    const at = options && rows.nextWake();
    if (at !== undefined) place.wakeBy(Math.max(at, Date.now()));
  }

  /** Writes the records again that devices have changed. */
  function putBack(changes: Changes): void {
    const written = [...changes].flatMap(([key, value]) => {
      if (!key.startsWith(KEY)) return [];
      const known = rows.find(key.slice(KEY.length));
      const right = known && recordOf(known);
      return JSON.stringify(value) === JSON.stringify(right) ? [] : [[key, right] as const];
    });
    place.write(new Map(written));
  }
}

/** Returns the first start. @throws {Refusal} 400 for a time that is over, or far away */
function nextOf(asked: ScheduleRequest, now: number): number {
  const { next } = timesAround(asked, now);
  if (next !== undefined && next <= now + AHEAD_MS) return next;
  throw turnRefusal("turn_invalid", { what: "at: send a time in the future, at most 366 days ahead" });
}

function requestOf(schedule: Schedule): ScheduleRequest {
  const {
    user: _,
    createdAt: _at,
    nextAt: _next,
    last: _last,
    endedAt: _end,
    code: _code,
    ...rest
  } = schedule;
  return rest as ScheduleRequest;
}

/**
 * Returns the record of a schedule; undefined for one that was removed. Members of a shared conversation read it, and know
 * nobody by the id that `authenticate` returns.
 */
function recordOf({ user: _, ...record }: Schedule): object | undefined {
  return record.code === "removed" ? undefined : record;
}
