import { useConversationActions } from "./actions.js";
import { Failure } from "./failure.js";

/** Under a question without an answer: it failed before it was sent, the page was left, or another tab is at it. */
export function Unanswered({ error }: { error: Error | undefined }) {
  const { retry } = useConversationActions();
  const again = (
    <button type="button" className="small" onClick={retry}>
      Try again
    </button>
  );
  if (!error) return <p className="note">There is no answer here yet. {again}</p>;
  return (
    <Failure error={error} isCut={false} isFresh>
      {again}
    </Failure>
  );
}
