import type { UseVideoTaskResult } from "@sluice/react";
import { reasonOf } from "./request-failure.js";

type Watched = Pick<UseVideoTaskResult, "fetchStatus" | "failure" | "refetch">;

/** When the gateway is asked again (`next`), and what came of the last question. */
export function Questions({ watched, next }: { watched: Watched; next: string }) {
  const { fetchStatus, failure, refetch } = watched;
  return (
    <>
      <p className="hint asked">
        <span>{next}</span>
        {fetchStatus !== "paused" && (
          <button type="button" className="quiet small" onClick={refetch}>
            Ask now
          </button>
        )}
      </p>
      {failure && (
        <p className="issue">The last question got no answer. {reasonOf(failure)} It is asked again.</p>
      )}
    </>
  );
}

/** Why nobody asks any more, and the way to ask nonetheless. */
export function GivenUp({ error, onAsk }: { error: Error; onAsk: () => void }) {
  return (
    <div className="alarm">
      <p>
        <strong>It is not asked about any more.</strong> {reasonOf(error)}
      </p>
      <button type="button" className="small" onClick={onAsk}>
        Ask again
      </button>
    </div>
  );
}
