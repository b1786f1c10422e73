import { useConversationActions } from "./actions.js";

/** Under a question that has no answer: the page was left too early, or another page is still at it. */
export function Unanswered() {
  const { retry } = useConversationActions();
  return (
    <p className="note">
      There is no answer here yet.{" "}
      <button type="button" className="small" onClick={retry}>
        Try again
      </button>
    </p>
  );
}
