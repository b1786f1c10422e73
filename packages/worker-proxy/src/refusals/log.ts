import type { Log } from "../api/host.js";
import { Refusal } from "./refusal.js";

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

/** Time during which equal lines are counted, in milliseconds. */
const MINUTE_MS = 60_000;
/** Maximum number of different lines in that time. Further lines are written once for each subject. */
const MAX_LINES = 20;

/** Writes a line to the log of a proxy, unless the last minute has it. */
export function writeLine(log: Log<never>, subject: string, text: string, about?: string): void {
  log.lines ??= createLines();
  log.lines.add(subject, text, about);
}

/** Writes equal lines of one minute once, and then their number: in an outage each request has the same line. */
function createLines() {
  let since = 0;
  const written = new Set<string>();
  const more = new Map<string, number>();
  return { add, flush };

  function add(subject: string, text: string, about = ""): void {
    flush();
    const line = `${subject}: ${text}`;
    const key = written.size < MAX_LINES || written.has(line) ? line : subject;
    if (written.has(key)) more.set(subject, (more.get(subject) ?? 0) + 1);
    else logError(`${subject}${about}: ${text}`);
    written.add(key);
  }

  /** Writes the number of suppressed lines after each minute. */
  function flush(): void {
    const ms = Date.now() - since;
    if (ms < MINUTE_MS) return;
    for (const [subject, count] of more)
      logError(`${subject}: ${count} more in the ${Math.round(ms / 1000)} s before`);
    since = Date.now();
    written.clear();
    more.clear();
  }
}

/** An error to log, with the secrets that its line must not contain. */
export interface LoggedError<Env> {
  /** @default the error belongs to work without a request */
  readonly request?: Request | undefined;
  readonly env: Env;
  readonly log: Log<Env>;
  /** Further values that the log must not show. @default none */
  readonly secrets?: readonly string[];
}

/**
 * Returns true for the name of a header whose value is a credential.
 */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

/** Length of a logged cause, in characters. */
const MAX_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const MIN_SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits, which most keys and tokens are. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/**
 * Logs an error in one line, without a value of `env`, a credential, a secret, or a text that looks like a key. Equal
 * lines of one minute are written once, and then counted.
 */
export async function logCause<Env>(
  subject: string,
  error: unknown,
  failed: LoggedError<Env>,
  requestId?: string,
): Promise<void> {
  let safe = describeCause(error).slice(0, 10_000);
  for (const value of await readSecrets(failed)) safe = safe.replaceAll(value, "[…]");
  safe = safe
    .replace(KEY_LIKE, "[…]")
    .replace(/\p{Cc}+/gu, " ")
    .slice(0, MAX_CHARACTERS);
  writeLine(failed.log, subject, safe, requestId && `, request ${requestId}`);
}

/** Describes an error for the log, with the errors behind it. */
function describeCause(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) {
    // some database clients throw plain objects
    const { message } = { ...(error as { readonly message?: unknown }) };
    return typeof message === "string" ? message : typeof error === "object" ? "an object" : String(error);
  }
  const behind = error.cause === undefined || depth === 3 ? "" : `: ${describeCause(error.cause, depth + 1)}`;
  if (error instanceof Refusal) return (error.details.problem ?? error.message) + behind;
  const [, frame] = /^\s*(at .+)$/m.exec(error.stack ?? "") ?? [];
  return `${error.name}: ${error.message}${frame ? ` (${frame})` : ""}${behind}`;
}

/** Reads the values that no line of the log may show, the longest first. */
async function readSecrets<Env>({ request, env, log, secrets }: LoggedError<Env>): Promise<string[]> {
  const keys = await Promise.all(
    [log.apiKey, log.secret].map(async (read) => read?.(env)).map((key) => key.catch(() => undefined)),
  );
  const credentials = [...(request?.headers ?? [])].filter(([name]) => isCredential(name));
  return [keys, Object.values(env ?? {}), secrets, credentials.map(([, value]) => value.split(/[\s;,=]+/))]
    .flat(2)
    .filter((value): value is string => typeof value === "string" && value.length >= MIN_SECRET_CHARACTERS)
    .sort((one, other) => other.length - one.length);
}
