import { randomId } from "../base/random-id.js";
import type { Client } from "../client.js";
import type { ImageRequest } from "../images/schema.js";
import type { VideoToolOptions } from "../media-tools/video-tool.js";
import { isRecord } from "../transport/error-response.js";
import { ask, misfitOf } from "./ask.js";
import { pathOf } from "./wire.js";

/** The time of a schedule: once, or at a time of day. */
export type ScheduleTime =
  | {
      /** The only start; Unix milliseconds, at most 366 days ahead. */
      readonly at: number;
    }
  | {
      /** The time of day of each start: `"08:00"`. */
      readonly time: string;
      /** The zone of `time`, by its IANA name: `"Europe/Berlin"`. */
      readonly timeZone: string;
      /** The days of the week, from 1 for Monday to 7 for Sunday. @default each day */
      readonly days?: readonly number[];
    };

/** The work of a schedule: a turn of the server, or one image or video. */
export type ScheduleWork =
  | {
      /** One turn of the server, which answers it with its own model and tools. */
      readonly message: {
        /** Text of the question. */
        readonly content: string;
        /** Pictures of the question: http(s) URLs, or data URLs. @default none */
        readonly images?: readonly string[];
      };
    }
  | {
      /** One request of `/v1/images/generations`. */
      readonly image: {
        /** The model that makes the image. */
        readonly model: ImageRequest["model"];
        /** Description of the image. */
        readonly prompt: string;
        /** Other fields of the request, under the gateway's own names. @default none */
        readonly params?: Readonly<Record<string, unknown>>;
      };
    }
  | {
      /** One video task. */
      readonly video: {
        /** The model that makes the video. */
        readonly model: VideoToolOptions["model"];
        /** Description of the video. */
        readonly prompt: string;
        /** Other fields of the request, as `videoTool` takes them. @default none */
        readonly params?: Readonly<Record<string, unknown>>;
      };
    };

/** Fields of a schedule beside its work and its time. */
interface ScheduleName {
  /** Random id that the sender gives: 1 to 64 letters, digits, `_` and `-`. The same id changes a schedule. */
  readonly id: string;
  /** Name for a list of schedules, up to 100 characters. @default none */
  readonly title?: string;
}

/** A schedule as a page or the app's server asks for it: one kind of work, and one kind of time. At most 65,536 characters as JSON. */
export type ScheduleRequest = ScheduleName & ScheduleWork & ScheduleTime;

/** The newest start of a schedule. */
export interface ScheduleStart {
  /** The time that it was due; Unix milliseconds. */
  readonly at: number;
  /** `missed`: the server, or the conversation, was busy for too long. `refused`: it was not allowed, or had no room. */
  readonly outcome: "started" | "missed" | "refused";
  /** The reason for a start that did not happen. */
  readonly code?: string;
  /** Id of the question that it wrote, if it wrote one. */
  readonly messageId?: string;
}

/** State of a schedule on the server. */
interface ScheduleState {
  /** Id of the user who made it or changed it last: each start is paid for by this user. */
  readonly user: string;
  /** Time at which it was made; Unix milliseconds. */
  readonly createdAt: number;
  /** The next start, in Unix milliseconds; null once it has ended. */
  readonly nextAt: number | null;
  /** The newest start; absent before the first. */
  readonly last?: ScheduleStart;
  /** Unix milliseconds; absent before its end. */
  readonly endedAt?: number;
  /** The reason for its end; absent before it. */
  readonly code?: "done" | "removed" | "not_permitted";
}

/** A schedule of a conversation. */
export type Schedule = ScheduleRequest & ScheduleState;

/**
 * Has the server start a turn, an image or a video of a conversation later, or each day, with or without a page. Needs a proxy
 * whose `runner` has `schedules`. The first schedule begins its conversation.
 *
 * @param id the id of the conversation, of this user's own
 * @param schedule the work and the time. An `id` of its own changes the schedule that has it, and lets a request be sent again
 *   that had no answer; without one each call makes another schedule
 * @throws {APIError} with `invalid_request` and the name of the field, `too_many_schedules`, `schedule_removed` or
 *   `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * const { id, nextAt } = await createSchedule(client, "trip", {
 *   title: "Morning picture",
 *   image: { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" },
 *   time: "08:00",
 *   timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
 * });
 * ```
 */
export async function createSchedule(
  client: Client,
  id: string,
  schedule: Partial<ScheduleName> & ScheduleWork & ScheduleTime,
): Promise<Schedule> {
  const asked = { ...schedule, id: schedule.id ?? randomId() };
  const made = await ask(client, pathOf(id, "/schedules"), "POST", asked);
  return scheduleIn(isRecord(made) ? made["schedule"] : undefined, "schedule");
}

/**
 * Lists the schedules of a conversation, the newest first, those that ended in the last 30 days among them: these have
 * `endedAt`. A page that follows the conversation sees each as the record `/schedule/<id>`, too, without `user`.
 *
 * @param id the id of the conversation, of this user's own
 * @throws {APIError} with `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * const schedules = await listSchedules(client, "trip");
 * const open = schedules.filter(({ nextAt }) => nextAt !== null);
 * ```
 */
export async function listSchedules(client: Client, id: string): Promise<readonly Schedule[]> {
  const listed = await ask(client, pathOf(id, "/schedules"), "GET");
  const schedules = isRecord(listed) ? listed["schedules"] : undefined;
  if (!Array.isArray(schedules)) throw misfitOf(SUBJECT, "schedules");
  return schedules.map((one, nth) => scheduleIn(one, `schedules.${nth}`));
}

/**
 * Removes a schedule: it starts nothing more. What it has started goes on. A repeat changes nothing.
 *
 * @param id the id of the conversation, of this user's own
 * @param scheduleId the id of the schedule, which can't be used again for 30 days
 * @throws {APIError} with `owner_only`, and the errors of the connection
 * @example
 * ```ts
 * for (const { id } of await listSchedules(client, "trip")) await removeSchedule(client, "trip", id);
 * ```
 */
export async function removeSchedule(client: Client, id: string, scheduleId: string): Promise<void> {
  await ask(client, pathOf(id, `/schedules?schedule=${encodeURIComponent(scheduleId)}`), "DELETE");
}

const SUBJECT = "schedules";

/** Checks what a list of schedules needs: kinds of work that are new on the server pass. */
function scheduleIn(value: unknown, path: string): Schedule {
  if (!isRecord(value) || typeof value["id"] !== "string") throw misfitOf(SUBJECT, `${path}.id`);
  const { nextAt } = value;
  if (nextAt !== null && typeof nextAt !== "number") throw misfitOf(SUBJECT, `${path}.nextAt`);
  // the server has checked the rest when the schedule was made
  return value as unknown as Schedule;
}
