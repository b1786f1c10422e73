import { useRef, useState } from "react";
import { createId, useRoute } from "../rooms.js";
import { RoomHeader } from "../shell/bars.js";
import { later } from "../ui/later.js";
import { ask, cancelAsk, useWaitingAsk } from "../welcome/asks.js";
import { Welcome } from "../welcome/welcome.js";
import { MessageBox } from "./message-box.js";

const Conversation = later(async () => (await import("./conversation.js")).Conversation);
const Compare = later(async () => (await import("./compare.js")).Compare);

/** The room for chat. One can write before the conversation is loaded. */
export function ChatRoom() {
  const { id, isNew } = useConversationId();
  const [isComparing, setIsComparing] = useState(false);
  const [isComposing, setIsComposing] = useState(false);
  const loading = <Loading draftKey={isNew ? "new" : id} isNew={isNew} onComposing={setIsComposing} />;
  if (isComparing) return <Compare onClose={() => setIsComparing(false)} fallback={loading} />;
  return (
    <Conversation
      key={id}
      id={id}
      isNew={isNew}
      welcome={welcome}
      onCompare={() => setIsComparing(true)}
      // another text field would break off the word that is being composed
      isNeeded={!isComposing}
      fallback={loading}
    />
  );
}

const welcome = (
  <div className="flex grow flex-col overflow-y-auto">
    <Welcome />
  </div>
);

/** Number of characters that are more than one line. */
const LINE = 300;

interface LoadingProps {
  readonly draftKey: string;
  readonly isNew: boolean;
  readonly onComposing: (isComposing: boolean) => void;
}

/** The room until its scripts are there: the same places, so that nothing moves. What is sent waits for them. */
function Loading({ draftKey, isNew, onComposing }: LoadingProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const waiting = useWaitingAsk();
  return (
    <>
      <RoomHeader title="Chat" />
      <div className="flex min-h-0 grow flex-col">{isNew && welcome}</div>
      <MessageBox
        draftKey={draftKey}
        field={field}
        onSend={(text) => ask({ prompt: text })}
        isBusy={waiting !== undefined}
        isBlocked={waiting !== undefined}
        onStop={cancelAsk}
        onComposing={onComposing}
        below={() => null}
        before={
          waiting && (
            <p className="animate-pulse truncate px-3 text-sm text-muted">{waiting.prompt.slice(0, LINE)}</p>
          )
        }
      />
    </>
  );
}

/** The conversation of the address. A new chat has an id of its own before it has an address. */
function useConversationId(): { id: string; isNew: boolean } {
  const route = useRoute();
  // another room has the address: this one keeps its conversation
  const [shown, setShown] = useState(route.id);
  const [fresh, setFresh] = useState(() => ({ id: createId(), isUsed: false }));
  const id = route.room === "chat" ? route.id : shown;
  if (id !== shown) setShown(id);
  if (id === fresh.id && !fresh.isUsed) setFresh({ ...fresh, isUsed: true });
  if (id === undefined && fresh.isUsed) setFresh({ id: createId(), isUsed: false });
  return { id: id ?? fresh.id, isNew: id === undefined };
}
