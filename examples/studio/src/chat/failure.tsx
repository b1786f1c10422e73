import { isGatewayError, redact } from "@sluice/core";
import type { ReactNode } from "react";
import { cutOff, explain } from "./explain.js";
import "../room/failure.css";

interface FailureProps {
  readonly error: Error;
  /** The connection ended before the answer did. */
  readonly isCut: boolean;
  /** It is the latest thing that happened, and is told at once to those who listen. */
  readonly isFresh: boolean;
  /** The way to do something about it. */
  readonly children: ReactNode;
}

/** What went wrong, and what to do about it. */
export function Failure({ error, isCut, isFresh, children }: FailureProps) {
  const { what, todo } = isCut ? cutOff : explain(error);
  return (
    <div className="failure" role={isFresh ? "alert" : undefined}>
      <p>
        <strong>{what}</strong> {todo}
      </p>
      {children}
      <details>
        <summary>Details</summary>
        <pre>{detailsOf(error)}</pre>
      </details>
    </div>
  );
}

/** For a support ticket: the words of the gateway or the library, and the request's id. */
function detailsOf(error: unknown): string {
  if (!isGatewayError(error)) return redact(String(error));
  const status = error.name === "APIError" ? ` (HTTP ${error.status})` : "";
  const id = error.requestId === undefined ? "" : `\nrequest ${error.requestId}`;
  return `${error.name}${status}: ${redact(error.message)}${id}`;
}
