import type { Billing } from "@sluice/core";
import { type ErrorFacts, kindOf } from "./error-kind.js";
import { type ErrorKind, type ErrorMessages, errorMessages } from "./error-messages.js";

/**
 * Next step that helps after an error.
 *
 * - `retry`: send it again
 * - `wait`: send it again later; `retryAt` says when, where that is known
 * - `sign-in`: let the user sign in
 * - `switch-model`: let the user choose another model
 * - `check-input`: let the user change what was entered
 * - `contact`: the user can do nothing; show who runs the app
 * - `none`: nothing is wrong, or nothing helps
 */
export type ErrorAction = "retry" | "wait" | "sign-in" | "switch-model" | "check-input" | "contact" | "none";

/** An error in the words of a user. */
export interface ErrorDescription {
  /** Kind of the error, for an icon or a test. */
  readonly kind: ErrorKind;
  /** Short name of what happened, at most five words in English. */
  readonly title: string;
  /** Advice on what to do, at most twelve words in English. It says where the request may be billed. */
  readonly hint: string;
  /** Next step that helps. */
  readonly action: ErrorAction;
  /** Time from which the request may be sent again; Unix milliseconds. Absent where the gateway named none. */
  readonly retryAt?: number;
  /** `maybe` where the failed request may be billed all the same. */
  readonly billing: Billing;
}

/** Options of {@link describeError}. */
export interface DescribeErrorOptions {
  /** Texts of the description, in any language. @default errorMessages */
  readonly messages?: ErrorMessages | undefined;
}

const actions: Readonly<Record<ErrorKind, ErrorAction>> = {
  offline: "retry",
  unreachable: "retry",
  originRefused: "contact",
  wrongAddress: "contact",
  connectionLost: "retry",
  timedOut: "retry",
  stalled: "retry",
  cutOff: "retry",
  damaged: "retry",
  modelFailed: "retry",
  unreadable: "retry",
  invalidInput: "check-input",
  blindModel: "switch-model",
  refusedInput: "check-input",
  tooLong: "check-input",
  signedOut: "sign-in",
  otherUser: "sign-in",
  forbidden: "contact",
  modelNotAllowed: "switch-model",
  notFound: "none",
  rateLimited: "wait",
  budgetUsed: "wait",
  sharedBudgetUsed: "wait",
  serviceDown: "retry",
  setup: "contact",
  imageFailed: "check-input",
  assetFailed: "check-input",
  videoFailed: "check-input",
  videoMissing: "wait",
  videoExpired: "retry",
  videoLate: "wait",
  storageFull: "none",
  stopped: "none",
  unexpected: "retry",
};

/** Kinds of errors that come before the gateway can have acted, say that it refused, or are not of a request. */
const unbilled: ReadonlySet<ErrorKind> = new Set([
  "invalidInput",
  "blindModel",
  "refusedInput",
  "tooLong",
  "signedOut",
  "otherUser",
  "forbidden",
  "modelNotAllowed",
  "notFound",
  "rateLimited",
  "budgetUsed",
  "sharedBudgetUsed",
  "setup",
  "videoExpired",
  "storageFull",
  "unexpected",
]);

/** Kinds of errors that are about the result of a task or asset: it was created, so that it may be billed. */
const ofResults: ReadonlySet<ErrorKind> = new Set(["videoFailed", "videoMissing", "assetFailed"]);

/** Time at which each error was described first. An error has no time of its own, and each render describes it. */
const firstSeen = new WeakMap<object, number>();

/**
 * Describes an error in a user's words: `error` of a hook or of a message, an error that was caught, or `error` of an
 * image that failed. Errors of an earlier page load are described, too. Anything else is `unexpected`.
 *
 * @example
 * ```tsx
 * function Failure({ error, retry }: { error: unknown; retry: () => void }) {
 *   const { title, hint, action } = describeError(error);
 *   return (
 *     <p role="alert">
 *       <strong>{title}.</strong> {hint}
 *       {action === "retry" && <button onClick={retry}>Try again</button>}
 *     </p>
 *   );
 * }
 * ```
 */
export function describeError(error: unknown, options: DescribeErrorOptions = {}): ErrorDescription {
  const { messages = errorMessages } = options;
  const facts: ErrorFacts = typeof error === "object" && error !== null ? error : {};
  const kind = kindOf(facts);
  const billing = billingOf(facts, kind);
  // texts that another version or a program has written may lack one
  const { title, hint } = messages[kind] ?? errorMessages[kind];
  const retryAt = retryTimeOf(facts);
  return {
    kind,
    title,
    hint: billing === "maybe" ? `${hint} ${messages.mayBeBilled}`.trim() : hint,
    action: actions[kind],
    ...(retryAt !== undefined && { retryAt }),
    billing,
  };
}

function billingOf(facts: ErrorFacts, kind: ErrorKind): Billing {
  if (ofResults.has(kind)) return "maybe";
  // a browser asks a server that allows no origin before it sends anything, and another server bills nothing
  if (kind === "originRefused" || kind === "wrongAddress") return "none";
  // a poll failed, and polls are free
  if (facts.handle !== undefined) return "none";
  if (facts.billing === "none" || facts.billing === "maybe") return facts.billing;
  return unbilled.has(kind) ? "none" : "maybe";
}

function retryTimeOf(facts: ErrorFacts): number | undefined {
  if (typeof facts.retryAfterMs !== "number") return undefined;
  const seenAt = firstSeen.get(facts) ?? Date.now();
  firstSeen.set(facts, seenAt);
  return seenAt + facts.retryAfterMs;
}
