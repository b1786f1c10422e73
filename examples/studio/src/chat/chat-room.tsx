import { useState } from "react";
import { useRoute } from "../routes.js";
import { RoomHeader } from "../shell/room-header.js";
import { later } from "../ui/later.js";
import { Welcome } from "../welcome/welcome.js";

const Conversation = later(async () => (await import("./conversation.js")).Conversation);
const Compare = later(async () => (await import("./compare.js")).Compare);
// it is needed at once, but the welcome can be painted before
void Conversation.preload();

/** The room for chat. */
export function ChatRoom() {
  const { id, isNew } = useConversationId();
  const [isComparing, setIsComparing] = useState(false);
  if (isComparing) return <Compare onClose={() => setIsComparing(false)} />;
  return (
    <Conversation
      key={id}
      id={id}
      isNew={isNew}
      welcome={welcome}
      onCompare={() => setIsComparing(true)}
      fallback={<Loading isNew={isNew} />}
    />
  );
}

const welcome = (
  <div className="flex grow flex-col overflow-y-auto">
    <Welcome />
  </div>
);

/** The room until its scripts are there: the same places, so that nothing moves. */
function Loading({ isNew }: { readonly isNew: boolean }) {
  return (
    <>
      <RoomHeader title="Chat" />
      <div className="flex min-h-0 grow flex-col">{isNew && welcome}</div>
      <div className="mx-auto w-full max-w-3xl px-2 pb-2 short:pb-1">
        <div className="h-21 rounded-2xl border border-edge/50 bg-raised short:h-12" />
      </div>
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

/** 128 random bits; not `randomUUID`, which plain-http pages do not have. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}
