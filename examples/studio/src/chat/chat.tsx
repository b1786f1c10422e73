import { Masthead } from "../masthead.js";
import { Composer } from "./composer.js";
import { MessageList } from "./message-list.js";
import { ModelPicker } from "./model-picker.js";
import { useSettings } from "./settings.js";
import { StatusLine } from "./status-line.js";
import { useConversation } from "./use-conversation.js";
import "./chat.css";
import "./dock.css";

/** The chat: what was said, and where to say more. */
export function Chat() {
  const [settings, setSettings] = useSettings();
  const chat = useConversation(settings);
  const { messages, status, isBusy, field, box } = chat;

  return (
    <div className="chat">
      <Masthead>
        <button type="button" className="quiet" disabled={messages.length === 0} onClick={chat.startOver}>
          New chat
        </button>
      </Masthead>
      <main>
        <MessageList
          box={box}
          messages={messages}
          isBusy={isBusy}
          onAsk={chat.ask}
          onAskAgain={chat.askAgain}
        />
        <footer className={isBusy ? "dock flows" : "dock"}>
          {chat.isAway && (
            <button type="button" className="jump" onClick={chat.catchUp}>
              Jump to latest
            </button>
          )}
          <StatusLine status={status} last={messages.at(-1)} />
          <Composer field={field} isBusy={isBusy} onSend={chat.ask} onStop={chat.halt}>
            <ModelPicker settings={settings} onChange={setSettings} />
          </Composer>
        </footer>
      </main>
    </div>
  );
}
