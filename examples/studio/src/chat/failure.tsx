import { isGatewayError, redact } from "@sluice/core";
import { explain } from "./explain.js";

/** What went wrong, what to do about it, and the way to do it. */
export function Failure({ error, onAskAgain }: { error: unknown; onAskAgain: (() => void) | undefined }) {
  const { what, todo } = explain(error);
  return (
    <div className="failure" role={onAskAgain && "alert"}>
      <p>
        <strong>{what}</strong> {todo}
      </p>
      {onAskAgain && (
        <button type="button" onClick={onAskAgain}>
          Try again
        </button>
      )}
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
