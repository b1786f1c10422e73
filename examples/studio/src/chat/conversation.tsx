import { useEffect } from "react";
import { flushSync } from "react-dom";
import { openNew } from "../conversations/address.js";
import type { Conversation as Entry } from "../conversations/list.js";
import { Topic } from "../conversations/topic.js";
import { conversations } from "../conversations/use-conversations.js";
import { blindnessOf } from "../images/accepted.js";
import { DropZone } from "../images/drop-zone.js";
import { useAttachments } from "../images/use-attachments.js";
import { ActionsContext, BusyContext } from "./actions.js";
import { Composer } from "./composer.js";
import { MessageList } from "./message-list.js";
import { ModelPicker } from "./model-picker.js";
import { type ChatSettings, withTools } from "./settings.js";
import { StatusLine } from "./status-line.js";
import { titleOf } from "./title.js";
import { useConversation } from "./use-conversation.js";

interface ConversationProps {
  readonly id: string;
  /** How the list knows it; undefined until something was asked. */
  readonly entry: Entry | undefined;
  readonly settings: ChatSettings;
  readonly onSettings: (settings: ChatSettings) => void;
}

/** One conversation: what was said, and where to say more. */
export function Conversation({ id, entry, settings, onSettings }: ConversationProps) {
  const chat = useConversation(id, settings);
  const { messages, status, isBusy, field, box } = chat;
  const attachments = useAttachments(settings.model);
  const { title, askedAt } = titleOf(messages) ?? {};
  useEffect(() => {
    if (title !== undefined && askedAt !== undefined) conversations.note({ id, title, askedAt });
  }, [id, title, askedAt]);
  const askWithTools = (text: string) => {
    // before the question, which reads what is offered as soon as it is sent
    flushSync(() => onSettings(withTools(settings)));
    void chat.ask(text);
  };
  const forget = () => {
    chat.reset();
    conversations.forget(id);
    openNew();
  };

  return (
    <ActionsContext value={chat.actions}>
      <BusyContext value={isBusy}>
        <main>
          {entry && (
            <Topic
              conversation={entry}
              onRename={(title) => conversations.rename(id, title)}
              onDelete={forget}
            />
          )}
          <MessageList
            box={box}
            messages={messages}
            isBusy={isBusy}
            isRestoring={chat.isRestoring}
            error={chat.error}
            onAsk={chat.ask}
            onAskWithTools={askWithTools}
          />
          <footer className={isBusy ? "dock flows" : "dock"}>
            {chat.isAway && (
              <button type="button" className="jump" onClick={chat.catchUp}>
                Jump to latest
              </button>
            )}
            <StatusLine status={status} last={messages.at(-1)} />
            <Composer
              chatId={id}
              field={field}
              isBusy={isBusy}
              attachments={attachments}
              blindness={blindnessOf(settings.model)}
              onSend={chat.ask}
              onStop={chat.halt}
            >
              <ModelPicker settings={settings} onChange={onSettings} />
            </Composer>
          </footer>
          <DropZone onFiles={attachments.add} />
        </main>
      </BusyContext>
    </ActionsContext>
  );
}
