import type { ImageRequest, VideoToolOptions } from "@sluice/core";

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

/** The work of a schedule: a turn of the runner, or one image or video. */
export type ScheduleWork =
  | { readonly message: { readonly content: string; readonly images?: readonly string[] } }
  | {
      /** One request of `/v1/images/generations`; `params` are its other fields. */
      readonly image: {
        readonly model: ImageRequest["model"];
        readonly prompt: string;
        readonly params?: Readonly<Record<string, unknown>>;
      };
    }
  | {
      /** One video task; `params` are its other fields, as `videoTool` takes them. */
      readonly video: {
        readonly model: VideoToolOptions["model"];
        readonly prompt: string;
        readonly params?: Readonly<Record<string, unknown>>;
      };
    };

/** A schedule as a page or the app's server asks for it: one kind of work, and one kind of time. */
export type ScheduleRequest = {
  /** Random id that the sender gives: 1 to 64 letters, digits, `_` and `-`. The same id changes a schedule. */
  readonly id: string;
  /** Name for a list of schedules, up to 100 characters. @default none */
  readonly title?: string;
} & ScheduleWork &
  ScheduleTime;

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

/** A schedule of a conversation. */
export type Schedule = ScheduleRequest & {
  /** Id of the user who made it or changed it last: each start is paid for by this user. */
  readonly user: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** The next start, in Unix milliseconds; null once it has ended. */
  readonly nextAt: number | null;
  readonly last?: ScheduleStart;
  /** Unix milliseconds; absent before its end. */
  readonly endedAt?: number;
  /** The reason for its end. */
  readonly code?: "done" | "removed" | "not_permitted";
};

/** The start of a schedule that the option `mayStart` decides about. */
export interface StartAsked {
  readonly user: { readonly id: string };
  /** The app's id of the conversation. */
  readonly conversation: string;
  /** Id of the schedule. */
  readonly schedule: string;
}

/** Options of the schedules of a runner. */
export interface SchedulesOptions<Env = unknown> {
  /** Most schedules of one user that have not ended, over all conversations. From 1 to 1,000. @default 20 */
  readonly most?: number | undefined;
  /**
   * Longest delay, in milliseconds, with which a start still happens: after an outage, or while the conversation is busy.
   * Of several missed times the newest one runs. From 60,000 to 86,400,000. @default 21_600_000
   */
  readonly lateMs?: number | undefined;
  /**
   * Called before each start, where the user need not be signed in: return false for one who is gone or may not any more,
   * and the schedule ends. What it throws, and no answer in 10 seconds, is tried again each minute.
   * @default all starts of users that are not erased
   */
  readonly mayStart?: ((start: StartAsked, env: Env) => boolean | Promise<boolean>) | undefined;
}
