import type { ProxyContext } from "./admitted.js";
import { hashOf } from "./hash.js";
import type { JobEvent } from "./job-event.js";
import { ensure, readBinding } from "./read-option.js";
import type { AnyEvent } from "./report.js";

/** The part that is used of a binding to a dataset of Workers Analytics Engine. */
export interface AnalyticsDataset {
  writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void;
}

/** Options of {@link analyticsEngine}. */
export interface AnalyticsEngineOptions {
  /**
   * The form of a user's id: its SHA-256 in hex, the id itself, or nothing. A hash of an address or a number can be guessed:
   * choose `none` for such ids, where the dataset must not name anybody.
   * @default "hashed"
   */
  readonly users?: "hashed" | "plain" | "none";
}

/** Longest text of one field, in characters: ten of them stay far below the 16 KB of a data point. */
const MOST_CHARACTERS = 256;

/**
 * Makes an `onEvent` that writes each event into a dataset of Workers Analytics Engine, one data point for each: for the
 * proxy's requests, and for the jobs of its parts.
 *
 * - `index1`: the user's hash; the kind where there is no user, or with `users: "none"`.
 * - `blob1` to `blob10`: kind, outcome, code, route, model, user, method, request id, id of the job or the user that an
 *   operation is about, and the operation, budget, limit or reason. A text is cut at 256 characters; what is absent is empty.
 * - `double1` to `double11`: status, the gateway's status, `firstByteMs`, `durationMs`, `bytes`, total tokens, prompt
 *   tokens, completion tokens, reserved, spent, attempts. What is absent is 0.
 *
 * @param dataset the binding, `(env) => env.EVENTS`
 * @throws {TypeError} for another value of `users`
 * @example
 * ```ts
 * const onEvent = analyticsEngine<Env>((env) => env.EVENTS);
 * export default createProxy<Env>({ ...options, onEvent });
 * ```
 */
export function analyticsEngine<Env = unknown>(
  dataset: (env: Env) => AnalyticsDataset | undefined,
  { users = "hashed" }: AnalyticsEngineOptions = {},
) {
  ensure(["hashed", "plain", "none"].includes(users), 'users: give "hashed", "plain" or "none"');
  const bound = (env: Env) => readBinding("analyticsEngine", dataset, env);
  return Object.assign(onEvent, { checks: [bound] });

  function onEvent(event: AnyEvent, env: Env, context?: ProxyContext): Promise<void> {
    const written = write(event, env);
    // the answer is over: without it, the platform may end the work
    context?.waitUntil(written.catch(() => {}));
    return written;
  }

  async function write(event: AnyEvent, env: Env): Promise<void> {
    const named = async (id: string | undefined) =>
      users === "none" || id === undefined ? undefined : users === "plain" ? id : await hashOf(id);
    const hash = users === "none" || event.user === undefined ? undefined : await hashOf(event.user);
    const user = await named(event.user);
    const target = event.kind === "request" ? await named(event.target) : undefined;
    (await bound(env)).writeDataPoint({
      indexes: [hash ?? event.kind],
      blobs: blobsOf(event, user, target).map((text) => (text ?? "").slice(0, MOST_CHARACTERS)),
      doubles: doublesOf(event).map((number) => (Number.isFinite(number) ? Number(number) : 0)),
    });
  }
}

function blobsOf(
  event: AnyEvent,
  user: string | undefined,
  target: string | undefined,
): readonly (string | undefined)[] {
  const { kind, outcome, code, model, requestId } = event;
  if (event.kind !== "request")
    return [kind, outcome, code, undefined, model, user, undefined, requestId, event.id, undefined];
  const { route, method, operation, budget, limit, reason } = event;
  const detail = operation ?? budget ?? limit ?? reason;
  return [kind, outcome, code, route, model, user, method, requestId, target, detail];
}

function doublesOf(event: AnyEvent): readonly unknown[] {
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: completion } = event.usage ?? {};
  const { upstreamStatus, durationMs, bytes } = event;
  const [status, firstByteMs] = event.kind === "request" ? [event.status, event.firstByteMs] : [];
  const { reserved, spent, attempts } = event.kind === "request" ? ({} as Partial<JobEvent>) : event;
  const times = [status, upstreamStatus, firstByteMs, durationMs, bytes];
  return [...times, total, prompt, completion, reserved, spent, attempts];
}
