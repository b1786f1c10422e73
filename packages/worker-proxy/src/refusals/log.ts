import type { JobEvent, OnJobEvent } from "../api/events.js";
import type { ProxyOptions } from "../api/options.js";
import { logError } from "../base/log-error.js";
import { Refusal } from "./refusal.js";
import { createRepeats } from "./repeats.js";
import type { Report } from "./report.js";
import { textOf } from "./texts.js";

/** The state of a log: the values that it must not show, and the lines that it has shown. */
interface Log<Env> {
  readonly apiKey?: ProxyOptions<Env>["apiKey"] | undefined;
  readonly secret?: ProxyOptions<Env>["secret"];
  readonly advised?: Set<string>;
  readonly repeats?: ReturnType<typeof createRepeats>;
}

/** A request that failed, with what its line in the log needs. No secret of it is in the line. */
export interface Failed<Env> {
  readonly request: Request;
  readonly env: Env;
  readonly log: Log<Env>;
  /** Names the request, and further values that the log must not show. @default none */
  readonly report?: Report;
}

/** An error of a request, or of work that goes on without one. */
type Logged<Env> = Omit<Failed<Env>, "request"> & { readonly request?: Request | undefined };

/** Tells whether the value of a header of this name is a credential. */
export function isCredential(name: string): boolean {
  return /auth|cookie|token|key|secret|session|jwt|signature/i.test(name);
}

/** The largest number of different lines that callers, who choose their subjects, can put into a log. */
const MOST_ADVICE = 100;

/** Logs an option that an operator may have forgotten: each line once. */
export function advise(advised = new Set<string>(), line: string): void {
  if (advised.has(line) || advised.size === MOST_ADVICE) return;
  advised.add(line);
  logError(line);
}

/** Length of a logged cause, in characters. */
const CAUSE_CHARACTERS = 600;
/** Shorter values are words that any message may have. */
const SECRET_CHARACTERS = 8;
/** JWTs, and words of letters and digits: most keys and tokens, also those that the proxy does not know. */
const KEY_LIKE = /\beyJ[\w-]+(?:\.[\w-]*)*|(?=[\w+-]*\d)(?=[\w+-]*[a-z])[\w+-]{16,}/gi;

/**
 * Logs an error in one line, without a value of `env`, a credential, a secret, or what looks like a key. Of the equal lines
 * of one minute only the first is written, and later the number of the others: in an outage each request has one.
 */
export async function logCause<Env>(
  subject: string,
  error: unknown,
  failed: Logged<Env>,
  requestId?: string,
): Promise<void> {
  let safe = causeOf(error).slice(0, 10_000);
  for (const { name, value } of await confidentialIn(failed)) safe = safe.replaceAll(value, `[${name}]`);
  safe = safe.replace(KEY_LIKE, "[…]").replace(/\p{Cc}+/gu, " ");
  safe = safe.slice(0, CAUSE_CHARACTERS);
  if (failed.log.repeats?.isRepeated(subject, safe)) return;
  logError(`${subject}${requestId ? `, request ${requestId}` : ""}: ${safe}`);
}

/** Describes an error for the log, with the errors behind it. */
function causeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return messageOf(error);
  const behind = error.cause === undefined || depth === 3 ? "" : `: ${causeOf(error.cause, depth + 1)}`;
  if (error instanceof Refusal) return (error.details.problem ?? textOf(error).message) + behind;
  const [, frame] = /^\s*(at .+)$/m.exec(error.stack ?? "") ?? [];
  return `${error.name}: ${error.message}${frame ? ` (${frame})` : ""}${behind}`;
}

/** Describes what was thrown and is no error: some database clients throw plain objects. */
function messageOf(thrown: unknown): string {
  const { message } = { ...(thrown as { readonly message?: unknown }) };
  return typeof message === "string" ? message : typeof thrown === "object" ? "an object" : String(thrown);
}

/** The values that no log may show, the longest first, each with the name that takes its place. */
async function confidentialIn<Env>({ request, env, log, report }: Logged<Env>) {
  const keys = await Promise.allSettled([log.apiKey, log.secret].map(async (read) => read?.(env)));
  const headers = [...(request?.headers ?? [])].filter(([name]) => isCredential(name));
  const named: (readonly [name: string, values: unknown])[] = [
    ["secret", report?.secrets],
    ...keys.map((key) => ["secret", key.status === "fulfilled" && key.value] as const),
    ...Object.entries(env ?? {}).map(([name, values]) => [`env.${name}`, values] as const),
    ...headers.map(([name, value]) => [name, value.split(/[\s;,=]+/)] as const),
  ];
  const isLong = (value: unknown) => typeof value === "string" && value.length >= SECRET_CHARACTERS;
  return named
    .flatMap(([name, values]) =>
      [values]
        .flat()
        .filter(isLong)
        .map((value) => ({ name, value: value as string })),
    )
    .sort((one, other) => other.value.length - one.value.length);
}

const jobs = { repeats: createRepeats() };

/** Hands an event of a job to its receiver, and logs what the receiver throws or rejects with. */
export function notifyOf<Env>(onEvent: OnJobEvent<Env> | undefined, event: JobEvent, env: Env): void {
  // it may be async: on some hosts an unhandled rejection ends the process
  const notified = async () => onEvent?.(event, env);
  notified().catch((error) => logCause("onEvent failed", error, { env, log: jobs }));
}
