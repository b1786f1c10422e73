import type { MessageOutcome, ThreadMessage } from "@sluice/core";
import { CopyButton } from "../copy-button.js";
import { useConversationActions, useIsBusy } from "./actions.js";
import { BranchArrows } from "./branch-arrows.js";
import { Failure } from "./failure.js";
import { Stats } from "./stats.js";
import "./ending.css";

/** What stands under an answer that has ended: how it ended, what it took, and what one can do now. */
export function Ending({ message, isLast }: { message: ThreadMessage; isLast: boolean }) {
  const { outcome = "complete", error, content } = message;
  const note = notes[outcome];
  const canRetry = isLast && (error !== undefined || unfinished.has(outcome));
  return (
    <footer className="ending">
      {note && (
        <p className="note">
          {note} {canRetry && <Retry />}
        </p>
      )}
      {error && (
        <Failure error={error} isCut={outcome === "truncated"} isFresh={isLast}>
          {canRetry && <Retry />}
        </Failure>
      )}
      <div className="after">
        <BranchArrows message={message} />
        {content !== "" && <CopyButton name="Copy answer" textOf={() => content} />}
        {!canRetry && !isWaiting(message) && <Regenerate messageId={message.id} />}
        {outcome !== "tool-calls" && <Stats message={message} />}
      </div>
    </footer>
  );
}

function Retry() {
  const { retry } = useConversationActions();
  return (
    <button type="button" className="small" disabled={useIsBusy()} onClick={retry}>
      Try again
    </button>
  );
}

function Regenerate({ messageId }: { messageId: string }) {
  const { regenerate } = useConversationActions();
  return (
    <button
      type="button"
      className="quiet small"
      disabled={useIsBusy()}
      onClick={() => regenerate(messageId)}
    >
      Regenerate
    </button>
  );
}

/** Whether a call waits for a person: there is something more urgent to press then. */
function isWaiting({ toolCalls = [] }: ThreadMessage): boolean {
  return toolCalls.some(({ state }) => state === "needs-approval" || state === "needs-result");
}

/** The endings after which one may want the rest. */
const unfinished: ReadonlySet<MessageOutcome> = new Set(["stopped", "interrupted", "insufficient-resource"]);

/** The endings that are no error; those say more than a line. */
const notes: { readonly [Kind in MessageOutcome]?: string } = {
  stopped: "Stopped.",
  interrupted: "Interrupted: the page was left while this answer came.",
  length: "Ended at the token limit: there would have been more.",
  "content-filter": "Filtered: the gateway left out the rest of this answer.",
  "insufficient-resource": "Ended early: the model ran out of resources.",
};
