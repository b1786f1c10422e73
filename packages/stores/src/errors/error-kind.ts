import type { ErrorKind } from "./error-messages.js";

/** Fields of an error that determine its kind. A storage stores all but `handle`, `task` and `issues`. */
export interface ErrorFields {
  readonly name?: unknown;
  readonly status?: unknown;
  readonly code?: unknown;
  readonly source?: unknown;
  readonly phase?: unknown;
  readonly reason?: unknown;
  readonly billing?: unknown;
  readonly handle?: unknown;
  readonly task?: unknown;
  readonly issues?: unknown;
  readonly retryAfterMs?: unknown;
}

/** Finds the kind of an error by its fields, which survive a reload. */
export function findKind(fields: ErrorFields): ErrorKind {
  switch (fields.name) {
    case "APIError":
      return findResponseKind(fields);
    case "ConnectionError":
      if (fields.reason === "origin-refused") return "originRefused";
      if (globalThis.navigator?.onLine === false) return "offline";
      return fields.billing === "none" ? "unreachable" : "connectionLost";
    case "TimeoutError":
      if (fields.phase === "deadline") return "videoLate";
      return fields.phase === "chunk" ? "stalled" : "timedOut";
    case "StreamError":
      return findStreamKind(fields.reason);
    case "ValidationError":
      return isAboutImageSupport(fields.issues) ? "blindModel" : "invalidInput";
    case "ConfigurationError":
      return "setup";
    case "ResponseError":
      return "unreadable";
    case "TaskError":
      return findTaskKind(fields);
    case "AbortError":
      return "stopped";
    case "QuotaExceededError":
      return "storageFull";
    case undefined:
      return "message" in fields ? "imageFailed" : "unexpected";
    default:
      return "unexpected";
  }
}

/** Kinds of error codes: codes of `@sluice/worker-proxy`, and the gateway's code for a text that is too long. */
const kindsByCode: Readonly<Record<string, ErrorKind>> = {
  model_not_allowed: "modelNotAllowed",
  user_mismatch: "otherUser",
  origin_not_allowed: "originRefused",
  budget_exhausted: "budgetUsed",
  shared_budget_exhausted: "sharedBudgetUsed",
  misconfigured: "setup",
  upstream_auth: "setup",
  upstream_cut: "cutOff",
  upstream_idle: "stalled",
  upstream_timeout: "timedOut",
  context_length_exceeded: "tooLong",
};

const kindsByStatus: Readonly<Record<number, ErrorKind>> = {
  401: "signedOut",
  403: "forbidden",
  404: "notFound",
  408: "timedOut",
  413: "tooLong",
  429: "rateLimited",
};

function findResponseKind({ status, code, reason }: ErrorFields): ErrorKind {
  if (reason === "wrong-address") return "wrongAddress";
  const known = typeof code === "string" && Object.hasOwn(kindsByCode, code) && kindsByCode[code];
  if (known) return known;
  if (typeof status !== "number") return "unexpected";
  // a 2xx response with an error came from the model
  if (status < 400) return "modelFailed";
  // the proxy's own `baseURL` is wrong: another server than the gateway responded
  if (status < 500 && code === "upstream_type") return "setup";
  return kindsByStatus[status] ?? (status >= 500 ? "serviceDown" : "refusedInput");
}

function findTaskKind({ reason, task }: ErrorFields): ErrorKind {
  if (reason === "expired") return "videoExpired";
  if (reason === "no-result") return "videoMissing";
  return "uri" in Object(task) ? "assetFailed" : "videoFailed";
}

function findStreamKind(reason: unknown): ErrorKind {
  if (reason === "truncated" || reason === "interrupted") return "cutOff";
  return reason === "malformed" ? "damaged" : "modelFailed";
}

/** Returns true if the model accepts no images. An issue about a single image has the image's index in its path. */
function isAboutImageSupport(issues: unknown): boolean {
  return (
    Array.isArray(issues) && issues.some(({ path, rule }) => path === "images" && rule === "chat.images")
  );
}
