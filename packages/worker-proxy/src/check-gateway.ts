import type { GatewayCheck } from "./api/options.js";
import { type Flights, share } from "./base/share.js";
import { checkedType } from "./gateway/answer.js";
import { openCall } from "./gateway/call.js";
import { parsed, readText, refusalOf } from "./gateway/read-json.js";
import { ask } from "./gateway/request.js";
import { type Failed, logCause } from "./refusals/log.js";
import { refusalIn } from "./refusals/refusal.js";
import { textOf } from "./refusals/texts.js";
import type { Settings } from "./settings.js";

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

/**
 * Lets `GET /health` ask the gateway, too. It polls a task that does not exist: one poll at a time in this isolate, and one
 * in ten seconds, however many ask.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, health: { checkGateway } });
 * ```
 */
export const checkGateway: GatewayCheck = gatewayProblem;

/** @returns the code of the problem; undefined where there is none */
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
      throw await refusalOf({ response, call }, gateway.apiKeys, settings.way.timeout.chunkMs);
    // a page of 404 is what another server answers
    checkedType(response, false);
    parsed(await readText({ response, call }, MOST_CHARACTERS));
  } finally {
    call.close();
  }
}
