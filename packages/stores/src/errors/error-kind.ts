import type { ErrorKind } from "./error-messages.js";

/** Fields of an error that tell its kind. A storage keeps all of them but `handle`, `task` and `issues`. */
export interface ErrorFacts {
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

/** Finds the kind of an error by its fields, which an error of an earlier page load has, too. */
export function kindOf(facts: ErrorFacts): ErrorKind {
  switch (facts.name) {
    case "APIError":
      return kindOfAnswer(facts);
    case "ConnectionError":
      if (facts.reason === "origin-refused") return "originRefused";
      if (globalThis.navigator?.onLine === false) return "offline";
      return facts.billing === "none" ? "unreachable" : "connectionLost";
    case "TimeoutError":
      if (facts.phase === "deadline") return "videoLate";
      return facts.phase === "chunk" ? "stalled" : "timedOut";
    case "StreamError":
      return kindOfStream(facts.reason);
    case "ValidationError":
      return isAboutSight(facts.issues) ? "blindModel" : "invalidInput";
    case "ConfigurationError":
      return "setup";
    case "ResponseError":
      return "unreadable";
    case "TaskError":
      return kindOfTask(facts);
    case "AbortError":
      return "stopped";
    case "QuotaExceededError":
      return "storageFull";
    case undefined:
      return "message" in facts ? "imageFailed" : "unexpected";
    default:
      return "unexpected";
  }
}

/** Codes that say more than their status: of `@sluice/worker-proxy`, and one that gateways give to a text without room. */
const kindsOfCode: Readonly<Record<string, ErrorKind>> = {
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

const kindsOfStatus: Readonly<Record<number, ErrorKind>> = {
  401: "signedOut",
  403: "forbidden",
  404: "notFound",
  408: "timedOut",
  413: "tooLong",
  429: "rateLimited",
};

function kindOfAnswer({ status, code, reason }: ErrorFacts): ErrorKind {
  if (reason === "wrong-address") return "wrongAddress";
  const known = typeof code === "string" && Object.hasOwn(kindsOfCode, code) && kindsOfCode[code];
  if (known) return known;
  if (typeof status !== "number") return "unexpected";
  // a 2xx answer with an error in it came from the model
  if (status < 400) return "modelFailed";
  // the proxy's own `baseURL` is wrong: what answered it was not the gateway
  if (status < 500 && code === "upstream_type") return "setup";
  return kindsOfStatus[status] ?? (status >= 500 ? "serviceDown" : "refusedInput");
}

function kindOfTask({ reason, task }: ErrorFacts): ErrorKind {
  if (reason === "expired") return "videoExpired";
  if (reason === "no-result") return "videoMissing";
  return "uri" in Object(task) ? "assetFailed" : "videoFailed";
}

function kindOfStream(reason: unknown): ErrorKind {
  if (reason === "truncated" || reason === "interrupted") return "cutOff";
  return reason === "malformed" ? "damaged" : "modelFailed";
}

/** True for the issue of a chat whose model sees no images; an issue about one image has its number in the path. */
function isAboutSight(issues: unknown): boolean {
  return (
    Array.isArray(issues) && issues.some(({ path, rule }) => path === "images" && rule === "chat.images")
  );
}
