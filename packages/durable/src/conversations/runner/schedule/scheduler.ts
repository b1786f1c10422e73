import { hashOf, Refusal, readBinding, textOf } from "@sluice/worker-proxy/internal";
import { askObject, type ObjectNamespace } from "../../../objects/object.js";
import type { Owner } from "../../record-tables.js";
import { objectOf, requestTo } from "../../wire.js";
import type { Schedule, ScheduleRequest } from "./shape.js";

type Sent = Pick<RequestInit, "method" | "body">;

/** A conversation of a user. */
export interface SchedulePlace {
  /** The id that `authenticate` returns. */
  readonly user: string;
  /** The app's id of the conversation. */
  readonly conversation: string;
}

/** Access of the app's own code to the schedules of its users. */
export interface Scheduler<Env = unknown> {
  /**
   * Makes a schedule, or changes the one with its id. The user pays for each start.
   *
   * @throws {ScheduleError} where the route would refuse it
   */
  schedule(env: Env, asked: SchedulePlace & { readonly schedule: ScheduleRequest }): Promise<Schedule>;
  /** Lists the schedules of a conversation, the newest first, those that have ended lately among them. */
  listSchedules(env: Env, place: SchedulePlace): Promise<readonly Schedule[]>;
  /** Removes a schedule. What it has started goes on. */
  removeSchedule(env: Env, asked: SchedulePlace & { readonly id: string }): Promise<void>;
}

/**
 * Opens the schedules of users to the app's own code, without a request of theirs. The `runner` needs the option `schedules`.
 *
 * @param namespace the binding of `conversations`
 * @example
 * ```ts
 * const schedules = scheduler<Env>((env) => env.CONVERSATIONS);
 * await schedules.schedule(env, {
 *   user: "ada",
 *   conversation: "c-1",
 *   schedule: {
 *     id: "morning",
 *     image: { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" },
 *     time: "08:00",
 *     timeZone: "Europe/Berlin",
 *   },
 * });
 * ```
 */
export function scheduler<Env = unknown>(
  namespace: (env: Env) => ObjectNamespace | undefined,
): Scheduler<Env> {
  return {
    async schedule(env, { schedule: body, ...place }) {
      const asked = JSON.stringify({ body, user: { id: place.user } });
      const answer = await ask(env, place, "", { method: "POST", body: asked });
      return ((await answer.json()) as { schedule: Schedule }).schedule;
    },
    async listSchedules(env, place) {
      const answer = await ask(env, place, "", {});
      return ((await answer.json()) as { schedules: readonly Schedule[] }).schedules;
    },
    async removeSchedule(env, { id, ...place }) {
      await ask(env, place, `?${encodeURIComponent(JSON.stringify({ schedule: id }))}`, { method: "DELETE" });
    },
  };

  async function ask(env: Env, { user, conversation }: SchedulePlace, query: string, init: Sent) {
    const owner: Owner = { user, userName: await hashOf(user), conversation };
    const bound = await readBinding("scheduler", namespace, env);
    try {
      return await askObject(objectOf(bound, owner), requestTo(owner, `/schedules${query}`, init));
    } catch (cause) {
      throw cause instanceof Refusal ? new ScheduleError(cause) : cause;
    }
  }
}

/**
 * A schedule that is refused: the message names the field, and the way out.
 *
 * @example
 * ```ts
 * const schedules = scheduler<Env>((env) => env.CONVERSATIONS);
 * const at = Date.now() + 3_600_000;
 * const schedule = { id: "later", message: { content: "What is new?" }, at };
 * try {
 *   await schedules.schedule(env, { user: "ada", conversation: "c-1", schedule });
 * } catch (error) {
 *   if (!(error instanceof ScheduleError) || error.code !== "too_many_schedules") throw error;
 * }
 * ```
 */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";
  /** The status and the code that a page would get: 400 `invalid_request`, 410 `schedule_removed`, 429 `too_many_schedules`. */
  readonly status: number;
  readonly code: string | null;

  constructor(refusal: Refusal) {
    const { message, status, code } = textOf(refusal);
    super(message);
    this.status = status;
    this.code = code;
  }
}
