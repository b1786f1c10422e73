import type { ThreadMessage } from "@sluice/core";
import { UserMessage } from "@/components/sluice/message";
import { CONTINUE, useVerbs } from "./chat.js";

interface QuestionProps {
  readonly message: ThreadMessage;
  readonly isBusy: boolean;
}

/** A message of the user. One that asks for the rest of an answer is a word. */
export function Question({ message, isBusy }: QuestionProps) {
  const { edit, switchBranch } = useVerbs();
  return (
    <UserMessage message={message} isBusy={isBusy} onEdit={edit} onSwitchBranch={switchBranch}>
      {message.content === CONTINUE && <p className="text-xs text-muted">Continue</p>}
    </UserMessage>
  );
}
