import type { ThreadMessage } from "@sluice/core";
import type { RefObject } from "react";
import { Message } from "./message.js";
import { Unanswered } from "./unanswered.js";
import { Welcome } from "./welcome.js";

interface MessageListProps {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly messages: readonly ThreadMessage[];
  readonly isBusy: boolean;
  readonly isRestoring: boolean;
  readonly error: Error | undefined;
  readonly onAsk: (text: string) => void;
  readonly onAskWithTools: (text: string) => void;
}

/** Everything said so far. The status line speaks for it: a live region would read out every token. */
export function MessageList(props: MessageListProps) {
  const { box, messages, isBusy, isRestoring, error, onAsk, onAskWithTools } = props;
  const last = messages.at(-1);
  return (
    <div
      ref={box}
      className="log"
      role="log"
      aria-label="Conversation"
      aria-live="off"
      aria-busy={isRestoring}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by those who scroll with keys
      tabIndex={0}
    >
      <div className="column">
        {messages.length === 0 && !isRestoring && <Welcome onAsk={onAsk} onAskWithTools={onAskWithTools} />}
        {messages.map((message) => (
          <Message
            // all versions of a message have one row, so that the arrows keep the focus
            key={message.branches?.[0] ?? message.id}
            message={message}
            isLive={isBusy && message === last && isOpen(message)}
            isLast={message === last}
          />
        ))}
        {last?.role === "user" && !isBusy && <Unanswered error={error} />}
      </div>
    </div>
  );
}

/** Whether more may come of it: an answer that calls tools is whole before they have run. */
function isOpen({ outcome }: ThreadMessage): boolean {
  return outcome === undefined || outcome === "tool-calls";
}
