import { useStore } from "@nanostores/react";
import { lazy, Suspense, useLayoutEffect, useRef, useState } from "react";
import { Composer } from "@/components/sluice/composer";
import { useDraft } from "@/components/sluice/use-draft";
import { useRoute } from "./rooms.js";
import { pendingQuestion, takeFocus, useIsMounted } from "./state.js";
import { Welcome } from "./welcome.js";

const ChatList = lazy(async () => ({ default: (await loadControls()).ChatList }));
const ChatRoom = lazy(async () => ({ default: (await import("./chat-room.js")).ChatRoom }));
const Compare = lazy(async () => ({ default: (await import("./compare.js")).Compare }));
const Dialog = lazy(async () => ({ default: (await import("@/components/sluice/popups")).Dialog }));

/** Loads what is around a conversation. On a slow line it would delay the room, so it waits for the room. */
export async function loadControls() {
  await import("./chat-room.js");
  return import("./chat-controls.js");
}

/** The conversations of this browser beside the open conversation. A user can write before the rest has loaded. */
export function ChatStart() {
  const { id, isNew } = useConversationId();
  const [isComparing, setIsComparing] = useState(false);
  const [isListOpen, setIsListOpen] = useState(false);
  const isMounted = useIsMounted();
  const list = <ChatList activeId={isNew ? undefined : id} onOpen={() => setIsListOpen(false)} />;
  return (
    <div className="flex min-h-0 grow">
      <div className="flex w-60 shrink-0 flex-col border-r bg-muted max-md:hidden">
        <Suspense>{isMounted && list}</Suspense>
      </div>
      <Suspense>
        {isListOpen && (
          <Dialog title="Chats" isDrawer isPlain isOpen onOpenChange={setIsListOpen}>
            {list}
          </Dialog>
        )}
      </Suspense>
      <div className="flex min-w-0 grow flex-col">
        <Suspense fallback={<Loading draftKey={isNew ? "new" : id} isNew={isNew} />}>
          {!isMounted ? (
            <Loading draftKey={isNew ? "new" : id} isNew={isNew} />
          ) : isComparing ? (
            <Compare onClose={() => setIsComparing(false)} />
          ) : (
            <ChatRoom
              key={id}
              id={id}
              isNew={isNew}
              onCompare={() => setIsComparing(true)}
              onList={() => setIsListOpen(true)}
            />
          )}
        </Suspense>
      </div>
    </div>
  );
}

/** Returns the conversation of the address. A new chat has an id before it has an address. */
function useConversationId(): { readonly id: string; readonly isNew: boolean } {
  const { id } = useRoute();
  const [fresh, setFresh] = useState(() => ({ id: createId(), isUsed: false }));
  if (id === fresh.id && !fresh.isUsed) setFresh({ ...fresh, isUsed: true });
  if (id === undefined && fresh.isUsed) setFresh({ id: createId(), isUsed: false });
  return { id: id ?? fresh.id, isNew: id === undefined };
}

/** Creates an id of 128 random bits. Pages without https have no `randomUUID`. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}

/** The chat before its scripts have loaded. It keeps what the user sends. */
function Loading({ draftKey, isNew }: { readonly draftKey: string; readonly isNew: boolean }) {
  const { draft, setDraft, clearDraft } = useDraft(`chat/${draftKey}`, "");
  const field = useRef<HTMLTextAreaElement>(null);
  const question = useStore(pendingQuestion);
  useLayoutEffect(() => takeFocus(field.current), []);
  return (
    <>
      <div className="flex min-h-0 grow flex-col overflow-y-auto">{isNew && <Welcome />}</div>
      {question && (
        <p dir="auto" className="animate-pulse truncate px-4 py-2 text-sm">
          {question.text.slice(0, 300)}
        </p>
      )}
      <Composer
        field={field}
        text={draft}
        onText={setDraft}
        onSend={() => {
          pendingQuestion.set({ text: draft });
          clearDraft();
        }}
        isBusy={question !== undefined}
        isBlocked={question !== undefined}
        onStop={() => {
          setDraft((later) => [question?.text, later].filter(Boolean).join("\n\n"));
          pendingQuestion.set(undefined);
        }}
      />
    </>
  );
}
