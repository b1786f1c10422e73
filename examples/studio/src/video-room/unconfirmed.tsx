import { redact } from "@sluice/core";

/** What to do about a video of which nobody knows whether it was taken. */
export function Unconfirmed({ error }: { error: Error | undefined }) {
  return (
    <div className="alarm">
      <p>
        <strong>Nobody knows whether the gateway has it: it may be made, and billed.</strong> Look at your
        account before you ask for it again; then remove it here.
      </p>
      {error && (
        // folded away: an error that passes says to try again, and that would be billed twice
        <details>
          <summary>Details</summary>
          {redact(error.message)}
        </details>
      )}
    </div>
  );
}
