import type { ChatOutcome, ThreadMessage } from "@sluice/core";
import { CopyButton } from "../copy-button.js";
import { Failure } from "./failure.js";
import { Stats } from "./stats.js";
import "./ending.css";

/** What stands under an answer that has ended: how it ended, what it took, and what one can do now. */
export function Ending({
  message,
  onAskAgain,
}: {
  message: ThreadMessage;
  onAskAgain: (() => void) | undefined;
}) {
  const { outcome = "complete", error, content } = message;
  const note = notes[outcome];
  return (
    <footer className="ending">
      {note && <p className="note">{note}</p>}
      {error !== undefined && <Failure error={error} onAskAgain={onAskAgain} />}
      <div className="after">
        {content !== "" && <CopyButton name="Copy answer" textOf={() => content} />}
        {onAskAgain && error === undefined && (
          <button type="button" className="quiet small" onClick={onAskAgain}>
            Regenerate
          </button>
        )}
        <Stats message={message} />
      </div>
    </footer>
  );
}

/** The endings that are no error; those say more than a line. */
const notes: { readonly [Kind in ChatOutcome]?: string } = {
  stopped: "Stopped.",
  length: "Ended at the token limit: there would have been more.",
  "content-filter": "Filtered: the gateway left out the rest of this answer.",
  "insufficient-resource": "Ended early: the model ran out of resources.",
  "tool-calls": "The model asked for a tool, and there is none here.",
};
