import type { readFaultCases } from "@sluice/emulator/faults";
import { joinMessages } from "../join-messages.ts";

/** One fault of the emulator. */
export type FaultCase = ReturnType<typeof readFaultCases>[number];
type FaultOutcome = FaultCase["right"][number];

/** The part of a response that a client hands to its user. */
export interface Reading {
  readonly text: string;
  /** Undefined if the client shows no thinking. */
  readonly reasoning?: string | undefined;
  /** Tools that the client runs, or calls that it hands over. Undefined if the client does not put calls together. */
  readonly toolCalls?: readonly Call[];
  /** The finish reason, in any spelling. Undefined, null or empty if the client has none. */
  readonly finish?: string | null | undefined;
  readonly totalTokens?: number | undefined;
}

/** A call that the client ran or handed over. */
export interface Call {
  readonly name: string;
  /** Undefined if the arguments are not JSON. */
  readonly arguments: unknown;
}

/**
 * Verdict on how a client reports a fault.
 *
 * - `right`: one of the right outcomes
 * - `acceptable`: a right outcome, but another outcome serves the user better
 * - `wrong words`: the right error, without the words of the gateway
 * - `wrong`: a success in place of an error, an error in place of a success, a wrong text or call, or too many requests
 * - `hangs`: no end
 */
export type FaultVerdict = "right" | "acceptable" | "wrong words" | "wrong" | "hangs";

/** Judges a reading, or the error in its place. */
export function judge(
  seen: { readonly reading: Reading } | { readonly error: unknown },
  fault: FaultCase,
  requests: number,
): FaultVerdict {
  // a client that runs tools sends their results in another request
  const mayContinue = fault.right.some(({ toolCalls = [] }) => toolCalls.length > 0);
  if (requests > fault.maxRequests && !mayContinue) return "wrong";
  const verdicts = fault.right.map((right) => {
    const verdict = "error" in seen ? judgeError(seen.error, right) : judgeReading(seen.reading, right);
    return verdict === "right" && right.lesser ? "acceptable" : verdict;
  });
  return order.find((verdict) => verdicts.includes(verdict)) ?? "wrong";
}

const order = ["right", "acceptable", "wrong words"] as const;

function judgeError(error: unknown, { outcome, words = "" }: FaultOutcome): FaultVerdict {
  if (outcome !== "error" && outcome !== "truncated") return "wrong";
  return `${joinMessages(error)} ${listStatuses(error)}`.includes(words) ? "right" : "wrong words";
}

/** Returns the HTTP statuses of an error and its causes. */
function listStatuses(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { status, statusCode, cause, errors } = error as Record<string, unknown>;
  const inside = [cause, ...(Array.isArray(errors) ? errors : [])].map(listStatuses);
  return [status, statusCode, ...inside].filter(Boolean).join(" ");
}

/** Compares a reading with a right outcome, in the fields that the client has. */
function judgeReading(reading: Reading, right: FaultOutcome): FaultVerdict {
  // an error that is due has to be thrown, unless it is the reason of the end
  if (right.error !== undefined) return "wrong";
  const { text, reasoning, toolCalls = [], finish, totalTokens } = reading;
  const isSame =
    endsWith[right.outcome](finish ?? "") &&
    text === (right.text ?? text) &&
    (reasoning === undefined || reasoning === (right.reasoning ?? reasoning)) &&
    (totalTokens === undefined || totalTokens === (right.totalTokens ?? totalTokens)) &&
    JSON.stringify(toolCalls.filter((call) => call.arguments !== undefined)) ===
      JSON.stringify(right.toolCalls ?? []);
  return isSame ? "right" : "wrong";
}

const isUnknown = (finish: string) => ["", "other", "unknown"].includes(finish);
const isAny = () => true;
/** Checks of the reason of the end. A text and calls that are right need no reason. */
const endsWith: Readonly<Record<FaultOutcome["outcome"], (finish: string) => boolean>> = {
  complete: isAny,
  "tool-calls": isAny,
  length: (finish) => /length|max_tokens/.test(finish),
  "content-filter": (finish) => /content.filter/.test(finish),
  "insufficient-resource": isUnknown,
  unconfirmed: isUnknown,
  truncated: isAny,
  error: (finish) => finish === "error" || isUnknown(finish),
};

/** Reads the arguments of a call. Undefined if they are not JSON. */
export function readArguments(given: unknown): unknown {
  if (typeof given !== "string") return given;
  if (given.trim() === "") return {};
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}
