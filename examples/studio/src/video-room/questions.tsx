import type { UseVideoTaskResult } from "@sluice/react";
import { reasonOf } from "../room/request-failure.js";
import { moment, useNow } from "../room/use-now.js";
import { nextOf } from "./words.js";

/** When the gateway is asked about a task, why it is not, and what came of the last question. */
export function Questions({ video, until }: { video: UseVideoTaskResult; until: number | undefined }) {
  const { fetchStatus, failure, refetch } = video;
  const now = useNow();
  return (
    <>
      <p className="hint asked">
        <span>{nextOf(video, now)}</span>
        {fetchStatus !== "paused" && (
          <button type="button" className="quiet small" onClick={refetch}>
            Ask now
          </button>
        )}
      </p>
      {failure && (
        <p className="issue">The last question got no answer. {reasonOf(failure)} It is asked again.</p>
      )}
      {until !== undefined && <p className="hint">It can be asked about until {moment(until)}.</p>}
    </>
  );
}
