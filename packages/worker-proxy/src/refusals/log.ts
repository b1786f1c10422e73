import type { JobEvent, OnJobEvent } from "../api/events.js";
import type { ProxyOptions } from "../api/options.js";
import { describeRefusal, Refusal } from "./refusal.js";
import type { Report } from "./report.js";

/**
 * Writes one line to the operator's log.
 *
 * @example
 * ```ts
 * logError("quota: 3 users are above their limit");
 * ```
 */
export function logError(problem: string): void {
  // biome-ignore lint/suspicious/noConsole: this is the log
  console.error(`sluice proxy: ${problem}`);
}

/** The state of a log: the values that it must not show, and the lines that it has shown. */
interface Log<Env> {
  readonly apiKey?: ProxyOptions<Env>["apiKey"] | undefined;
  readonly secret?: ProxyOptions<Env>["secret"];
  readonly advised?: Set<string>;
  readonly repeats?: ReturnType<typeof createRepeats>;
}

/** An error of a request, with what its line in the log needs. No secret of the request is in the line. */
export interface LoggedError<Env> {
  /** @default the error belongs to work that goes on without a request */
  readonly request?: Request | undefined;
  readonly env: Env;
  readonly log: Log<Env>;
  /** Names the request, and further values that the log must not show. @default none */
  readonly report?: Pick<Report, "secrets">;
}

/**
 * Returns true for the name of a header whose value is a credential.
 *
 * @example
 * ```ts
 * isCredential("x-api-key"); // true
 * ```
 */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

/** The largest number of different lines that callers, who choose their subjects, can put into a log. */
const MAX_ADVICE = 100;

/** Logs an option that an operator may have forgotten: each line once. */
export function advise(advised = new Set<string>(), line: string): void {
  if (advised.has(line) || advised.size === MAX_ADVICE) return;
  advised.add(line);
  logError(line);
}

/** Length of a logged cause, in characters. */
const MAX_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const MIN_SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits: most keys and tokens, even unknown ones. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/**
 * Logs an error in one line, without a value of `env`, a credential, a secret, or a text that looks like a key. Equal
 * lines of one minute are written once, and then counted.
 *
 * @example
 * ```ts
 * const logFailure = (server: Server<Env>, error: unknown) =>
 *   logCause("quota: the count could not be read", error, { env, log: server.settings.log });
 * ```
 */
export async function logCause<Env>(
  subject: string,
  error: unknown,
  failed: LoggedError<Env>,
  requestId?: string,
): Promise<void> {
  let safe = describeCause(error).slice(0, 10_000);
  for (const [name, value] of await readSecrets(failed)) safe = safe.replaceAll(value, `[${name}]`);
  safe = safe
    .replace(KEY_LIKE, "[…]")
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, MAX_CHARACTERS);
  if (failed.log.repeats?.isRepeated(subject, safe)) return;
  logError(`${subject}${requestId ? `, request ${requestId}` : ""}: ${safe}`);
}

/** Describes an error for the log, with the errors behind it. */
function describeCause(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) {
    // some database clients throw plain objects
    const { message } = { ...(error as { readonly message?: unknown }) };
    return typeof message === "string" ? message : typeof error === "object" ? "an object" : String(error);
  }
  const behind = error.cause === undefined || depth === 3 ? "" : `: ${describeCause(error.cause, depth + 1)}`;
  if (error instanceof Refusal) return (error.details.problem ?? describeRefusal(error).message) + behind;
  const [, frame] = /^\s*(at .+)$/m.exec(error.stack ?? "") ?? [];
  return `${error.name}: ${error.message}${frame ? ` (${frame})` : ""}${behind}`;
}

/** The values that no log may show, the longest first, each with the name that takes its place. */
async function readSecrets<Env>({
  request,
  env,
  log,
  report,
}: LoggedError<Env>): Promise<[string, string][]> {
  const keys = await Promise.allSettled([log.apiKey, log.secret].map(async (read) => read?.(env)));
  const named: (readonly [name: string, values: unknown])[] = [
    ["secret", report?.secrets],
    ...keys.map((key) => ["secret", key.status === "fulfilled" && key.value] as const),
    ...Object.entries(env ?? {}).map(([name, values]) => [`env.${name}`, values] as const),
    ...[...(request?.headers ?? [])]
      .filter(([name]) => isCredential(name))
      .map(([name, value]) => [name, value.split(/[\s;,=]+/)] as const),
  ];
  return named
    .flatMap(([name, values]) => [values].flat().map((value) => [name, value] as [string, string]))
    .filter(([, value]) => typeof value === "string" && value.length >= MIN_SECRET_CHARACTERS)
    .sort(([, one], [, other]) => other.length - one.length);
}

/** Time during which equal lines are counted, in milliseconds. */
const MINUTE_MS = 60_000;
/** Most different lines that are written in that time; beyond it, one for each subject. */
const MAX_LINES = 20;

/** Counts the lines of an outage, which are equal but for their requests. */
export function createRepeats() {
  let since = 0;
  const counts = new Map<string, { readonly subject: string; count: number }>();
  return { isRepeated, report };

  /** Counts a line. Returns true if it was written in this minute. */
  function isRepeated(subject: string, cause: string): boolean {
    report();
    if (counts.size === 0) since = Date.now();
    const line = `${subject}: ${cause}`;
    const key = counts.has(line) || counts.size < MAX_LINES ? line : subject;
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { subject, count: 0 });
    return known !== undefined;
  }

  /** Writes, once a minute is over, how many lines it had that were not written. */
  function report(): void {
    const ms = Date.now() - since;
    if (ms < MINUTE_MS || counts.size === 0) return;
    const more = new Map<string, number>();
    for (const { subject, count } of counts.values()) more.set(subject, (more.get(subject) ?? 0) + count);
    counts.clear();
    for (const [subject, count] of more)
      if (count > 0) logError(`${subject}: ${count} more in the ${Math.round(ms / 1000)} s before`);
  }
}

const jobs = { repeats: createRepeats() };

/** Hands an event of a job to its receiver, and logs what the receiver throws or rejects with. */
export function notifyListener<Env>(onEvent: OnJobEvent<Env> | undefined, event: JobEvent, env: Env): void {
  // it may be async: on some hosts an unhandled rejection ends the process
  const notified = async () => onEvent?.(event, env);
  notified().catch((error) => logCause("onEvent failed", error, { env, log: jobs }));
}
