import { isGatewayError, type Outcome, redact } from "@sluice/core";
import type { ReactNode } from "react";
import "./failure.css";

interface RequestFailureProps {
  readonly error: Error;
  readonly outcome: Outcome | undefined;
  /** It is the latest thing that happened, and is told at once to those who listen. */
  readonly isFresh: boolean;
  /** The way to do something about it. */
  readonly children?: ReactNode;
}

/** What became of a request that costs money, why, and what to do. */
export function RequestFailure({ error, outcome, isFresh, children }: RequestFailureProps) {
  return (
    <div className="failure" role={isFresh ? "alert" : undefined}>
      <p>
        <strong>{fateOf(error, outcome)}</strong> {reasonOf(error)}
      </p>
      {children && <div className="deed">{children}</div>}
      <details>
        <summary>Details</summary>
        <pre>{detailsOf(error)}</pre>
      </details>
    </div>
  );
}

/** What became of it: the first thing that whoever pays wants to know. */
function fateOf(error: Error, outcome: Outcome | undefined): string {
  const isStopped = error.name === "AbortError";
  // a rule that is broken is found before anything leaves
  switch (error.name === "ValidationError" ? "not-sent" : outcome) {
    case "not-sent":
      return isStopped ? "Stopped before it was sent: nothing is billed." : "Not sent: nothing is billed.";
    case "refused":
      return "Refused by the gateway: nothing is billed.";
    default:
      return isStopped
        ? "Stopped: the gateway may have begun, and it may be billed."
        : "Unknown whether the gateway did it: it may be billed.";
  }
}

/** Why, in a person's words. */
export function reasonOf(error: Error): string {
  if (error.name === "AbortError") return "";
  if (!isGatewayError(error)) return redact(error.message);
  switch (error.name) {
    case "ValidationError":
      return `${error.issues.map(({ path, message }) => `${path} ${message}`.trim()).join("; ")}.`;
    case "APIError":
      if (error.status === 429) return "Too many requests. Wait a moment, then try again.";
      if (error.status === 401) return "The gateway does not know who is asking: check the server's key.";
      return `The gateway says: ${redact(error.message)}`;
    case "ConnectionError":
      return navigator.onLine ? "The connection failed before an answer came." : "You are offline.";
    case "TimeoutError":
      return "No answer came for too long.";
    case "ResponseError":
      return "The gateway's answer could not be understood.";
    default:
      return redact(error.message);
  }
}

/** For a support ticket: the words of the gateway or the library, and the request's id. */
function detailsOf(error: Error): string {
  const id = isGatewayError(error) && error.requestId !== undefined ? `\nrequest ${error.requestId}` : "";
  return `${error.name}: ${redact(error.message)}${id}`;
}
