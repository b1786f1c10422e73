import type { Refusal } from "./refusal.js";

/** Writes one line to the operator's log. */
export function logError(problem: string): void {
  // biome-ignore lint/suspicious/noConsole: this is the log
  console.error(`sluice proxy: ${problem}`);
}

/** The largest number of different lines that callers, who choose their subjects, can put into a log. */
const MOST_ADVICE = 100;

/** Creates a log for options that an operator may have forgotten: each line once. */
export function createAdvisor(): (refusal: Refusal) => void {
  const given = new Set<string>();
  return ({ advice, message }) => {
    if (!advice) return;
    const line = `${JSON.stringify(advice.slice(0, 100))}: ${message}`;
    if (given.has(line) || given.size === MOST_ADVICE) return;
    given.add(line);
    logError(line);
  };
}

/** Everything of a request whose values must not be in a log. */
export interface Confidential {
  readonly request: Request;
  readonly env: unknown;
  /** Further secrets: keys that are not in `env`. */
  readonly secrets: readonly string[];
}

/** Logs an error in one line, without anything that is confidential. */
export function logCause(subject: string, error: unknown, confidential: Confidential): void {
  logError(`${subject}: ${redacted(causeOf(error), confidential).slice(0, CAUSE_CHARACTERS)}`);
}

/** Describes an error for the log, with the errors behind it. */
function causeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return typeof error === "object" ? "an object" : String(error);
  const { problem } = error as Partial<Refusal>;
  const isRefusal = "problem" in error;
  const [, frame] = /^\s*(at .+)$/m.exec(error.stack ?? "") ?? [];
  const own = isRefusal ? (problem ?? error.message) : `${error.name}: ${error.message}`;
  const behind = error.cause === undefined || depth === 3 ? "" : `: ${causeOf(error.cause, depth + 1)}`;
  return own + (isRefusal || !frame ? "" : ` (${frame})`) + behind;
}

/** Length of a logged cause, in characters. */
const CAUSE_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits: most keys and tokens, also those that nobody told the proxy of. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/** Tells whether the value of a header of this name lets somebody in somewhere. */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

/** The text without a value of `env`, a credential of the request, a secret, or anything that looks like a key. */
function redacted(text: string, { request, env, secrets }: Confidential): string {
  const known: [value: string, name: string][] = secrets.map((secret) => [secret, "secret"]);
  for (const [name, value] of Object.entries(env ?? {}))
    for (const entry of [value].flat()) if (typeof entry === "string") known.push([entry, `env.${name}`]);
  for (const [name, value] of request.headers)
    if (isCredential(name)) for (const part of value.split(/[\s;,=]+/)) known.push([part, name]);
  known.sort(([one], [other]) => other.length - one.length);
  let safe = text.slice(0, 10_000);
  for (const [value, name] of known)
    if (value.length >= SECRET_CHARACTERS) safe = safe.replaceAll(value, `[${name}]`);
  return safe.replace(KEY_LIKE, "[…]").replace(/\p{Cc}+/gu, " ");
}
