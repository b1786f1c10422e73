import type { ThreadMessage } from "@sluice/core";
import { ToolCard } from "../tools/tool-card.js";
import { Ending } from "./ending.js";
import { Markdown } from "./markdown.js";
import { Reasoning } from "./reasoning.js";

interface AnswerProps {
  readonly message: ThreadMessage;
  readonly isLive: boolean;
  readonly isLast: boolean;
}

/** What the model thought, said and called, and how it ended. */
export function Answer({ message, isLive, isLast }: AnswerProps) {
  const isOpen = message.outcome === undefined;
  const isComing = isLive && isOpen;
  return (
    <article className="answer" aria-label="Assistant's answer" aria-busy={isLive}>
      {/* another version is unfolded or folded on its own */}
      <Body key={message.id} message={message} isComing={isComing} />
      {!isLive && (isOpen ? <Elsewhere /> : <Ending message={message} isLast={isLast} />)}
    </article>
  );
}

function Body({ message, isComing }: { message: ThreadMessage; isComing: boolean }) {
  const { content, reasoning, toolCalls = [] } = message;
  const isSilent = content === "" && toolCalls.length === 0;
  return (
    <>
      {reasoning !== undefined && <Reasoning text={reasoning} isThinking={isComing && isSilent} />}
      {content !== "" && <Markdown text={content} isLive={isComing} />}
      {toolCalls.map((call) => (
        <ToolCard key={call.id} call={call} />
      ))}
      {isComing && isSilent && reasoning === undefined && <Waiting />}
    </>
  );
}

function Elsewhere() {
  return <p className="note">This answer is coming in another tab.</p>;
}

function Waiting() {
  return (
    <span className="waiting" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}
