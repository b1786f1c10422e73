export type { EndedRun, RunContext, RunNotices, RunnerOptions } from "./options.js";
export type { Runner } from "./place.js";
export { runner } from "./runner.js";
export { ScheduleError, type SchedulePlace, type Scheduler, scheduler } from "./schedule/scheduler.js";
export type {
  Schedule,
  ScheduleRequest,
  ScheduleStart,
  SchedulesOptions,
  ScheduleTime,
  ScheduleWork,
  StartAsked,
} from "./schedule/shape.js";
