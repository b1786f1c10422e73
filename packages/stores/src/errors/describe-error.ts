import type { Billing } from "@sluice/core";
import { type ErrorFields, findKind } from "./error-kind.js";
import { type ErrorKind, type ErrorMessages, errorMessages } from "./error-messages.js";

/**
 * Next step after an error.
 *
 * - `retry`: send the request again
 * - `wait`: send the request again later; `retryAt` says when, if known
 * - `sign-in`: let the user sign in
 * - `switch-model`: let the user choose another model
 * - `check-input`: let the user change the input
 * - `contact`: the user can do nothing; show who runs the app
 * - `none`: nothing is wrong, or nothing helps
 */
export type ErrorAction = "retry" | "wait" | "sign-in" | "switch-model" | "check-input" | "contact" | "none";

/** An error in words for users. */
export interface ErrorDescription {
  /** Kind of the error, for an icon or a test. */
  readonly kind: ErrorKind;
  /** Short name of the problem, at most five words in English. */
  readonly title: string;
  /** Advice on what to do, at most twelve words in English. It tells if the request may be billed. */
  readonly hint: string;
  /** Next step that helps. */
  readonly action: ErrorAction;
  /** Earliest time to send the request again; Unix milliseconds. Absent if the gateway gave no time. */
  readonly retryAt?: number;
  /** `maybe` if the failed request may be billed. */
  readonly billing: Billing;
}

/** Options of {@link describeError}. */
export interface DescribeErrorOptions {
  /** Texts of the description, in any language. @default errorMessages */
  readonly messages?: ErrorMessages | undefined;
}

/**
 * Next step and billing of each kind. By default another request helps, and the failed one may be billed. `none` means that
 * the gateway rejected the request or never received it, or that the error is not about a request.
 */
const kindDetails: Readonly<
  Partial<Record<ErrorKind, { readonly action?: ErrorAction; readonly billing?: "none" }>>
> = {
  originRefused: { action: "contact" },
  wrongAddress: { action: "contact" },
  invalidInput: { action: "check-input", billing: "none" },
  blindModel: { action: "switch-model", billing: "none" },
  refusedInput: { action: "check-input", billing: "none" },
  tooLong: { action: "check-input", billing: "none" },
  signedOut: { action: "sign-in", billing: "none" },
  otherUser: { action: "sign-in", billing: "none" },
  forbidden: { action: "contact", billing: "none" },
  modelNotAllowed: { action: "switch-model", billing: "none" },
  notFound: { action: "none", billing: "none" },
  rateLimited: { action: "wait", billing: "none" },
  budgetUsed: { action: "wait", billing: "none" },
  sharedBudgetUsed: { action: "wait", billing: "none" },
  setup: { action: "contact", billing: "none" },
  imageFailed: { action: "check-input" },
  assetFailed: { action: "check-input" },
  videoFailed: { action: "check-input" },
  videoMissing: { action: "wait" },
  videoLate: { action: "wait" },
  videoExpired: { billing: "none" },
  storageFull: { action: "none", billing: "none" },
  stopped: { action: "none" },
  unexpected: { billing: "none" },
};

/** Kinds of errors about the result of a task or asset. It was created, so that it may be billed. */
const resultErrors: ReadonlySet<ErrorKind> = new Set(["videoFailed", "videoMissing", "assetFailed"]);

/** Time of the first description of each error, because errors have no time and each render describes them again. */
const firstSeen = new WeakMap<object, number>();

/**
 * Describes an error in words for users: the `error` of a hook, a message or an image, or a caught error. Works for errors
 * of an earlier page load, too. Any other value is `unexpected`.
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
  const fields: ErrorFields = typeof error === "object" && error !== null ? error : {};
  const kind = findKind(fields);
  const billing = findBilling(fields, kind);
  // messages of another version may lack a kind
  const { title, hint } = messages[kind] ?? errorMessages[kind];
  const retryAt = computeRetryTime(fields);
  return {
    kind,
    title,
    hint: billing === "maybe" ? `${hint} ${messages.mayBeBilled}`.trim() : hint,
    action: kindDetails[kind]?.action ?? "retry",
    ...(retryAt !== undefined && { retryAt }),
    billing,
  };
}

function findBilling(fields: ErrorFields, kind: ErrorKind): Billing {
  if (resultErrors.has(kind)) return "maybe";
  // the browser's preflight request failed before the request was sent, or another server responded
  if (kind === "originRefused" || kind === "wrongAddress") return "none";
  // a poll failed, and polls are free
  if (fields.handle !== undefined) return "none";
  if (fields.billing === "none" || fields.billing === "maybe") return fields.billing;
  return kindDetails[kind]?.billing ?? "maybe";
}

function computeRetryTime(fields: ErrorFields): number | undefined {
  if (typeof fields.retryAfterMs !== "number") return undefined;
  const seenAt = firstSeen.get(fields) ?? Date.now();
  firstSeen.set(fields, seenAt);
  return seenAt + fields.retryAfterMs;
}
