import type { ThreadMessage } from "@sluice/core";
import { memo } from "react";
import { Ending } from "./ending.js";
import { Markdown } from "./markdown.js";
import { Reasoning } from "./reasoning.js";

interface MessageProps {
  readonly message: ThreadMessage;
  readonly isLive: boolean;
  /** On the last answer alone, once it has ended. */
  readonly onAskAgain: (() => void) | undefined;
}

/** One message. Finished ones keep their identity, so that of a long thread only the live one renders. */
export const Message = memo(function Message({ message, isLive, onAskAgain }: MessageProps) {
  if (message.role !== "assistant")
    return (
      <article className="question" aria-label="Your message">
        {message.content}
      </article>
    );
  const { content, reasoning } = message;
  return (
    <article className="answer" aria-label="Assistant's answer" aria-busy={isLive}>
      {reasoning !== undefined && <Reasoning text={reasoning} isThinking={isLive && content === ""} />}
      {content !== "" && <Markdown text={content} isLive={isLive} />}
      {isLive && content === "" && reasoning === undefined && <Waiting />}
      {!isLive && <Ending message={message} onAskAgain={onAskAgain} />}
    </article>
  );
});

function Waiting() {
  return (
    <span className="waiting" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}
