import type { ScheduleTime } from "./shape.js";

const DAY_MS = 86_400_000;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;
/** Days around an instant that surely have a time of each schedule. */
const AROUND = 8;

/** Times of a schedule beside an instant; undefined where there is none. */
export interface Times {
  /** The newest one that has come. */
  readonly last: number | undefined;
  /** The next one. */
  readonly next: number | undefined;
}

/** True for a time of day that {@link timesAround} takes: `"08:00"`. */
export function isTimeOfDay(time: unknown): time is string {
  return typeof time === "string" && TIME.test(time);
}

/** True for a time zone that this platform knows. */
export function isTimeZone(zone: unknown): zone is string {
  try {
    return typeof zone === "string" && zone !== "" && Boolean(formatOf(zone));
  } catch {
    return false;
  }
}

/**
 * Returns the times of a schedule around an instant. A time of day that a day does not have, since clocks go forward, is
 * as much later; of one that a day has twice the first one counts.
 */
export function timesAround(schedule: ScheduleTime, now: number): Times {
  if ("at" in schedule) {
    const { at } = schedule;
    return at <= now ? { last: at, next: undefined } : { last: undefined, next: at };
  }
  const { timeZone, days } = schedule;
  const [, hours = 0, minutes = 0] = (TIME.exec(schedule.time) ?? []).map(Number);
  const format = formatOf(timeZone);
  const today = Math.floor((now + offsetAt(format, now)) / DAY_MS);
  const times = Array.from({ length: 2 * AROUND + 1 }, (_, nth) => today - AROUND + nth)
    .filter((day) => !days || days.includes(weekdayOf(day)))
    .map((day) => instantOf(format, day * DAY_MS + (hours * 60 + minutes) * 60_000));
  return { last: times.filter((at) => at <= now).at(-1), next: times.find((at) => at > now) };
}

/** Returns 1 for a Monday and 7 for a Sunday, by the number of days since 1970, which began with a Thursday. */
function weekdayOf(day: number): number {
  return ((((day + 3) % 7) + 7) % 7) + 1;
}

/** Returns the instant at which clocks of a zone show a local time, written as if it were UTC. */
function instantOf(format: Intl.DateTimeFormat, local: number): number {
  const before = offsetAt(format, local - DAY_MS);
  const after = offsetAt(format, local + DAY_MS);
  const shown = [before, after]
    .map((offset) => local - offset)
    .filter((at) => at + offsetAt(format, at) === local);
  return shown.length > 0 ? Math.min(...shown) : local - before;
}

/** Returns the offset of a zone from UTC, in milliseconds. */
function offsetAt(format: Intl.DateTimeFormat, at: number): number {
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1000) * 1000;
}

const formats = new Map<string, Intl.DateTimeFormat>();
/** Most zones that an isolate remembers. */
const MOST_FORMATS = 100;

/** @throws {RangeError} for an unknown zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (formats.size >= MOST_FORMATS) formats.clear();
  formats.set(timeZone, format);
  return format;
}
