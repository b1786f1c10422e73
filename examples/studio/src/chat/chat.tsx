import { openNew, useConversationId } from "../conversations/address.js";
import { ConversationList } from "../conversations/conversation-list.js";
import { Drawer } from "../conversations/drawer.js";
import { useConversations } from "../conversations/use-conversations.js";
import { Masthead } from "../masthead.js";
import { NotesList } from "../tools/notes-list.js";
import { useMedia } from "../use-media.js";
import { Conversation } from "./conversation.js";
import { useSettings } from "./settings.js";
import "./chat.css";
import "./dock.css";

/** The conversations, and the one that is open. */
export function Chat() {
  const [settings, setSettings] = useSettings();
  const openId = useConversationId();
  const open = useConversations().find(({ id }) => id === openId);
  const isWide = useMedia("(width >= 60rem)");

  return (
    <div className="chat">
      <Masthead
        leading={
          !isWide && (
            <Drawer name="Conversations">
              <ConversationList openId={openId} />
              <NotesList />
            </Drawer>
          )
        }
      >
        <button type="button" className="quiet" disabled={!open} onClick={openNew}>
          New chat
        </button>
      </Masthead>
      <div className="room">
        {isWide && (
          <aside className="shelf" aria-label="Conversations and notes">
            <ConversationList openId={openId} />
            <NotesList />
          </aside>
        )}
        <Conversation
          // another conversation has a field, a scroll position and unsent images of its own
          key={openId}
          id={openId}
          entry={open}
          settings={settings}
          onSettings={setSettings}
        />
      </div>
    </div>
  );
}
