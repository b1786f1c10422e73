import type { ThreadMessage } from "@sluice/core";
import { memo } from "react";
import { Answer } from "./answer.js";
import { Question } from "./question.js";

interface MessageProps {
  readonly message: ThreadMessage;
  readonly isLive: boolean;
  readonly isLast: boolean;
}

/** One message. Finished ones keep their identity, so that of a long thread only the live one renders. */
export const Message = memo(function Message({ message, isLive, isLast }: MessageProps) {
  if (message.role !== "assistant") return <Question message={message} />;
  return <Answer message={message} isLive={isLive} isLast={isLast} />;
});
