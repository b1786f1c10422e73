/** Schedules have one shape here and in pages. */
export type {
  Schedule,
  ScheduleRequest,
  ScheduleStart,
  ScheduleTime,
  ScheduleWork,
} from "@sluice/core/remote";

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
