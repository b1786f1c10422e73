import { useStore } from "@nanostores/react";
import { type UseChatStreamResult, useChatStream, useConversations } from "@sluice/react";
import { PanelLeft } from "lucide-react";
import { lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "@/components/sluice/button";
import { Chat } from "@/components/sluice/chat";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { changeSettings, chatSettings, createChatOptions, renderTool, toolTitles } from "./chat-options.js";
import { playFaultNext, storage, useSendWhenOnline } from "./client.js";
import { Welcome } from "./first-screen.js";
import { openRoute, useChatId } from "./rooms.js";
import {
  isFirstResponseDue,
  markedMessage,
  pendingQuestion,
  showCall,
  takeFocus,
  useChatDraft,
  useRunningCode,
  useTitle,
  waitForFirstResponse,
} from "./state.js";

/** Loads the controls of a chat: its list, its settings and its cost. */
async function loadControls() {
  await waitForFirstResponse();
  return import("./chat-controls.js");
}

const ChatControls = lazy(async () => ({ default: (await loadControls()).ChatControls }));
const ChatCost = lazy(async () => ({ default: (await loadControls()).ChatCost }));
const ChatList = lazy(async () => ({ default: (await loadControls()).ChatList }));
const Dialog = lazy(async () => ({ default: (await import("@/components/sluice/popups")).Dialog }));
const Markdown = lazy(async () => ({ default: (await import("@/components/sluice/markdown")).Markdown }));

/** The code that runs in each state of the chat. */
const runningCode: Partial<Record<UseChatStreamResult["status"], string>> = {
  submitted: "return chat.send(text, options)",
  streaming: "renderText={renderText}",
  "requires-action": "renderTool={renderTool}",
  error: "describe={describe}",
};

/** The room for chat: the conversations of this browser, and the open conversation. */
export function ChatRoom() {
  const { id, isNew } = useChatId();
  const [isListOpen, setIsListOpen] = useState(false);
  const list = <ChatList activeId={isNew ? undefined : id} onOpen={() => setIsListOpen(false)} />;
  return (
    <div className="flex min-h-0 grow">
      <div className="flex w-60 shrink-0 flex-col border-e bg-muted max-md:hidden">
        <Suspense>{list}</Suspense>
      </div>
      <Suspense>
        {isListOpen && (
          <Dialog title="Chats" isDrawer isPlain isOpen onOpenChange={setIsListOpen}>
            {list}
          </Dialog>
        )}
      </Suspense>
      <Conversation key={id} id={id} isNew={isNew} onList={() => setIsListOpen(true)} />
    </div>
  );
}

interface ConversationProps {
  readonly id: string;
  /** True before the first message. */
  readonly isNew: boolean;
  readonly onList: () => void;
}

function Conversation({ id, isNew, onList }: ConversationProps) {
  const settings = useStore(chatSettings);
  const { model } = settings;
  const chat = useChatStream({ id, storage, whenBusy: "queue", ...createChatOptions(settings) });
  const { active, update } = useConversations({ storage, activeId: id });
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const [isBegunHere] = useState(isNew);
  const isRestoring = chat.persistence?.status === "restoring";
  const ended = chat.getThread().filter(({ message }) => message.outcome !== undefined);
  const title = active?.title || "Chat";
  const send: typeof chat.send = (text, options) => {
    if (isNew) openRoute("chat", id, { replace: true });
    void loadControls().then(({ storeThumbnail }) => storeThumbnail(id, options?.images));
    return chat.send(text, options);
  };
  useTitle(isBusy ? `Responding… ${title}` : title);
  useRunningCode(runningCode[chat.status]);
  useLeaveWarning(chat.persistence?.status === "unsaved");
  const describe = useSendWhenOnline(chat);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => takeFocus(box.current?.querySelector("textarea")), []);

  const markedId = useMarkedMessage(chat);
  const question = useStore(pendingQuestion);
  const hasResponse = chat.messages.length > 0 && chat.status !== "submitted";
  useEffect(() => {
    if (hasResponse && question === undefined) isFirstResponseDue.set(false);
  }, [hasResponse, question]);

  const label = useRef<string>(undefined);
  useEffect(() => {
    if (!active || label.current === undefined) return;
    update(id, { title: `${label.current} · ${active.title}` });
    label.current = undefined;
  }, [active, update, id]);

  const draft = useChatDraft(id);
  const newDraft = useChatDraft();
  // sends what the user sent on the first screen
  useEffect(() => {
    // read again: in development, React runs an effect twice
    const pending = pendingQuestion.get();
    if (!pending) return;
    pendingQuestion.set(undefined);
    label.current = pending.label;
    if (pending.fault) playFaultNext(pending.fault);
    // the pressed button leaves the page; a finger would open the keyboard with the field
    if (!matchMedia("(pointer: coarse)").matches) box.current?.querySelector("textarea")?.focus();
    // the chat gets its own address, and takes the draft with it
    if (isNew) {
      draft.setDraft(newDraft.draft);
      newDraft.clearDraft();
    }
    void send(pending.text);
  });
  return (
    <div ref={box} className="flex min-w-0 grow flex-col">
      <header className="flex h-12 shrink-0 items-center gap-1 px-2 short:h-8">
        <IconButton label="Chats" className="md:hidden" onClick={onList}>
          <PanelLeft aria-hidden />
        </IconButton>
        <h1 dir="auto" className="min-w-0 grow truncate px-2 text-sm font-medium">
          {title}
        </h1>
        <Suspense>{ended.length > 0 && <ChatCost ended={ended} />}</Suspense>
      </header>
      <div className="min-h-0 grow">
        <Chat
          // a chat that begins here has nothing to restore
          chat={{ ...chat, send, ...(isBegunHere && isRestoring && { persistence: undefined }) }}
          id={id}
          draft={isNew ? newDraft : draft}
          model={model}
          empty={isBegunHere ? <Welcome /> : <Missing />}
          renderText={renderText}
          renderTool={renderTool}
          toolTitles={toolTitles}
          describe={describe}
          onDetails={showCall}
          markedId={markedId}
          onModel={(next) => changeSettings({ model: next })}
          controls={
            <Suspense>
              <ChatControls />
            </Suspense>
          }
        />
      </div>
    </div>
  );
}

function Missing() {
  return (
    <p role="status" className="m-auto p-4 text-muted-foreground">
      This chat is not in this browser.
    </p>
  );
}

/** Time that a message stays marked, in milliseconds. */
const MARK_MS = 3000;

/** Returns the id of the message that is marked. Shows the version of the chat that has it. */
function useMarkedMessage({ messages, getThread, switchBranch }: UseChatStreamResult) {
  const id = useStore(markedMessage);
  const isShown = messages.some((message) => message.id === id);
  useEffect(() => {
    if (id === undefined) return;
    if (!isShown && getThread().some(({ message }) => message.id === id)) switchBranch(id);
    if (!isShown) return;
    const timer = setTimeout(() => markedMessage.set(undefined), MARK_MS);
    return () => clearTimeout(timer);
  }, [id, messages.length, isShown, getThread, switchBranch]);
  return id;
}

/** Start of a text that is JSON. */
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*[\]["{])/;

/** Shows Markdown. The text is plain until the renderer has loaded. */
function renderText(text: string, isLive: boolean, isCut: boolean) {
  return (
    <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
      <Markdown text={JSON_START.test(text) ? `\`\`\`json\n${text}` : text} isLive={isLive} isCut={isCut} />
    </Suspense>
  );
}
