import type { ThreadMessage } from "@sluice/core";
import type { RefObject } from "react";
import { Message } from "./message.js";
import { Welcome } from "./welcome.js";

interface MessageListProps {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly messages: readonly ThreadMessage[];
  readonly isBusy: boolean;
  readonly onAsk: (text: string) => void;
  readonly onAskAgain: () => void;
}

/** Everything said so far. The status line speaks for it: a live region would read out every token. */
export function MessageList({ box, messages, isBusy, onAsk, onAskAgain }: MessageListProps) {
  const last = messages.at(-1);
  return (
    <div
      ref={box}
      className="log"
      role="log"
      aria-label="Conversation"
      aria-live="off"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by those who scroll with keys
      tabIndex={0}
    >
      <div className="column">
        {messages.length === 0 && <Welcome onAsk={onAsk} />}
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            isLive={isBusy && message === last}
            onAskAgain={!isBusy && message === last ? onAskAgain : undefined}
          />
        ))}
      </div>
    </div>
  );
}
