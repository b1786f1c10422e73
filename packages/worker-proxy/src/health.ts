import type { Checked } from "./admitted.js";
import { checkedType } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import { type Flights, share } from "./gateway/polls.js";
import { parsed, readText, refusalOf } from "./gateway/read-answer.js";
import { ask } from "./gateway/request.js";
import { type Failed, logCause } from "./refusals/log.js";
import { misconfigured, refusalIn } from "./refusals/refusal.js";
import { textOf } from "./refusals/texts.js";
import type { Settings } from "./settings.js";

/* Loaded for `GET /health`. */

/**
 * Answers 503 as long as a setting or a binding is missing, and where the gateway is asked and does not answer as one. Only
 * the log says what is wrong.
 */
export async function healthOf<Env>(
  settings: Settings<Env>,
  host: string,
  failed: Failed<Env>,
): Promise<Response> {
  const { env, report } = failed;
  const results = await Promise.allSettled<unknown>(checksOf(settings, env, host));
  const problems = results.filter((result) => result.status === "rejected");
  // all problems, each time: the operator who looks now sees every one
  const { apiKey, secret } = failed.log;
  for (const { reason } of problems) await logCause("health", reason, { ...failed, log: { apiKey, secret } });
  let code = problems.length > 0 ? "misconfigured" : undefined;
  if (!code && settings.health?.asksGateway) code = await gatewayProblem(settings, host, failed);
  const status = code ? 503 : 200;
  report?.end(status, code);
  return Response.json({ status: code ?? "ok" }, { status });
}

function checksOf<Env>(settings: Settings<Env>, env: Env, host: string): readonly unknown[] {
  const { authenticate, rateLimit, meter, extensions, onEvent, read, way } = settings;
  const [baseURL, apiKeys] = way.parts(env, host);
  const door = authenticate === "public" ? undefined : authenticate;
  const parts: readonly (Checked<Env> | undefined)[] = [door, rateLimit, meter, onEvent, ...extensions];
  // a part may be listed twice: as an extension, and as a part of `admin`
  const checks = new Set(parts.flatMap((part) => part?.checks ?? []));
  return [
    settings.fetch ? baseURL : checkedHost(baseURL),
    apiKeys,
    read.secrets(env),
    read.models(env),
    read.origins(env),
    ...[...checks].map(async (check) => check(env)),
  ];
}

/** Hosts that belong to nobody (RFC 2606): a template's address that was never changed. */
const TEMPLATE = /^https:\/\/(?:[^/]+\.)?example\.(?:com|net|org)(?:[:/]|$)/;

async function checkedHost(given: string | Promise<string>): Promise<void> {
  const baseURL = await given;
  if (TEMPLATE.test(baseURL))
    throw misconfigured(`baseURL: is still the template's ${baseURL}; give the address of your gateway`);
}

/** The task that is polled. No gateway has it, and a poll is free (spec, GET /v1/video/generations/{id}). */
const NO_TASK = "/v1/video/generations/sluice-health-check";
/** Statuses of a gateway that has taken the key, and does not know the task or is busy. */
const TAKES_KEY = [400, 404, 429];
/** Longest time for its answer, in milliseconds. */
const ANSWER_MS = 5000;
/** Time for which an isolate does not ask again, in milliseconds; longer than an answer takes. */
const FRESH_MS = 10_000;
/** Larger than what a gateway says about a task that it does not know. */
const MOST_CHARACTERS = 65_536;

interface Verdict {
  /** The code of the problem; absent where there is none. */
  readonly code?: string;
}

/** The verdicts of each proxy, by its settings. */
const memos = new WeakMap<object, Flights<Verdict>>();

/** Polls a task that does not exist: one poll at a time in this isolate, and one in ten seconds, however many ask. */
async function gatewayProblem<Env>(
  settings: Settings<Env>,
  host: string,
  failed: Failed<Env>,
): Promise<string | undefined> {
  const flights: Flights<Verdict> = memos.get(settings) ?? new Map();
  memos.set(settings, flights);
  const keeping = { waitMs: FRESH_MS, freshMs: () => FRESH_MS };
  const read = async (): Promise<Verdict> => {
    const refusal = await poll(settings, host, failed).then(() => undefined, refusalIn);
    if (!refusal) return {};
    await logCause("health", refusal, failed);
    return { code: textOf(refusal).code };
  };
  return (await share(flights, "gateway", keeping, read)).code;
}

/** @throws {Refusal} the reason for which the gateway can't be used */
async function poll<Env>(settings: Settings<Env>, host: string, { env, report }: Failed<Env>): Promise<void> {
  // a caller that leaves does not end it: others wait for it
  const call = openCall(new AbortController().signal, ANSWER_MS);
  try {
    const gateway = await settings.way.open(env, host);
    const response = await ask(gateway, { method: "GET", path: NO_TASK }, { call, report });
    if (!response.ok && !TAKES_KEY.includes(response.status))
      throw await refusalOf({ response, call }, gateway.apiKeys, settings.way.limits.stallMs);
    // a page of 404 is what another server answers
    checkedType(response, false);
    parsed(await readText({ response, call }, MOST_CHARACTERS));
  } finally {
    call.close();
  }
}
