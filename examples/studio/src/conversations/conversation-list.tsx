import { useChatStatus } from "@sluice/react";
import { memo, useSyncExternalStore } from "react";
import { isKeeping } from "../client.js";
import type { Conversation } from "./list.js";
import { useConversations } from "./use-conversations.js";
import "./conversation-list.css";

/** The conversations, as links. */
export const ConversationList = memo(function ConversationList({ openId }: { openId: string }) {
  const conversations = useConversations();
  const keeps = useSyncExternalStore(isKeeping.subscribe, isKeeping.getSnapshot);
  return (
    <nav className="conversations" aria-label="Conversations">
      {conversations.length === 0 && <p>What you ask is listed here.</p>}
      {!keeps && <p>This browser keeps nothing: what is said here is gone when the page is left.</p>}
      <ul>
        {conversations.map((conversation) => (
          <Entry key={conversation.id} conversation={conversation} isOpen={conversation.id === openId} />
        ))}
      </ul>
    </nav>
  );
});

interface EntryProps {
  readonly conversation: Conversation;
  readonly isOpen: boolean;
}

const Entry = memo(function Entry({ conversation: { id, title }, isOpen }: EntryProps) {
  const activity = activities[useChatStatus(id)];
  return (
    <li>
      <a href={`#${id}`} aria-current={isOpen ? "page" : undefined} title={title}>
        <span className="title" dir="auto">
          {title}
        </span>
        {activity && (
          <span className={activity === "waits for you" ? "mark waits" : "mark"}>
            <span className="unseen">, {activity}</span>
          </span>
        )}
      </a>
    </li>
  );
});

const activities: Readonly<Record<string, string | undefined>> = {
  submitted: "answering",
  streaming: "answering",
  "requires-action": "waits for you",
};
