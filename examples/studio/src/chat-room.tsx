import { useStore } from "@nanostores/react";
import { describeError, type UseChatStreamResult, useChatStream } from "@sluice/react";
import { Columns2, PanelLeft } from "lucide-react";
import { lazy, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { Chat } from "@/components/sluice/chat";
import { useDraft } from "@/components/sluice/use-draft";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { changeSettings, chatSettings, createChatOptions, useLabeledChat } from "./chat-settings.js";
import { loadControls } from "./chat-start.js";
import { isOffline, isUnsent, storage } from "./client.js";
import { openRoute } from "./rooms.js";
import { pendingQuestion, takeFocus, useRunningCode, useTitle } from "./state.js";
import { renderTool, toolTitles } from "./tools.js";
import { Welcome } from "./welcome.js";

const ChatControls = lazy(async () => ({ default: (await loadControls()).ChatControls }));
const ChatCost = lazy(async () => ({ default: (await loadControls()).ChatCost }));
const Markdown = lazy(async () => ({ default: (await import("@/components/sluice/markdown")).Markdown }));

/** The code that runs in each state of the chat. */
const runningCode: Partial<Record<UseChatStreamResult["status"], string>> = {
  submitted: "return chat.send(text, options)",
  streaming: "renderText={renderText}",
  "requires-action": "renderTool={renderTool}",
  error: "describe={describe}",
};

interface ChatRoomProps {
  readonly id: string;
  /** True before the first message. */
  readonly isNew: boolean;
  readonly onCompare: () => void;
  readonly onList: () => void;
}

/** The room for chat: one conversation. */
export function ChatRoom({ id, isNew, onCompare, onList }: ChatRoomProps) {
  const settings = useStore(chatSettings);
  const { model } = settings;
  const chat = useChatStream({ id, storage, whenBusy: "queue", ...createChatOptions(settings) });
  const question = useStore(pendingQuestion);
  const [label, setLabel] = useState<string>();
  if (question?.label && question.label !== label) setLabel(question.label);
  const active = useLabeledChat(id, label);
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  const [isBegunHere] = useState(isNew);
  const isRestoring = chat.persistence?.status === "restoring";
  const ended = chat.getThread().filter(({ message }) => message.outcome !== undefined);
  const title = active?.title || "Chat";
  const send: typeof chat.send = (text, options) => {
    if (isNew) openRoute("chat", id, { replace: true });
    return chat.send(text, options);
  };
  useTitle(isBusy ? `Responding… ${title}` : title);
  useRunningCode(runningCode[chat.status]);
  useLeaveWarning(chat.persistence?.status === "unsaved");
  const describe = useSendWhenOnline(chat);
  const newDraft = useDraft("chat/new", "");
  const draft = useDraft(`chat/${id}`, "");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (question === undefined) return;
    pendingQuestion.set(undefined);
    // the pressed button leaves the page; a finger would open the keyboard with the field
    if (!matchMedia("(pointer: coarse)").matches) box.current?.querySelector("textarea")?.focus();
    // what the user wrote after the question goes along to the chat's own address
    if (isNew) draft.setDraft(newDraft.draft);
    if (isNew) newDraft.clearDraft();
    void send(question.text);
  });
  useLayoutEffect(() => takeFocus(box.current?.querySelector("textarea")), []);
  return (
    <div ref={box} className="flex min-h-0 grow flex-col">
      <header className="flex h-12 shrink-0 items-center gap-1 px-2 short:h-8">
        <IconButton label="Chats" className="md:hidden" onClick={onList}>
          <PanelLeft aria-hidden />
        </IconButton>
        <h1 dir="auto" className="min-w-0 grow truncate px-2 text-sm font-medium">
          {title}
        </h1>
        <Suspense>{ended.length > 0 && <ChatCost ended={ended} />}</Suspense>
        <Button look="quiet" onClick={onCompare}>
          <Columns2 aria-hidden />
          <span className="max-[24rem]:sr-only">Compare</span>
        </Button>
      </header>
      <div className="min-h-0 grow">
        <Chat
          // a chat that begins here has nothing to restore
          chat={{ ...chat, send, ...(isBegunHere && isRestoring && { persistence: undefined }) }}
          id={id}
          draftKey={isNew ? "new" : id}
          model={model}
          empty={isBegunHere ? <Welcome /> : <Missing />}
          renderText={renderText}
          renderTool={renderTool}
          toolTitles={toolTitles}
          describe={describe}
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

/** Start of a text that is JSON. */
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*[\]["{])/;

/** Shows Markdown. The text is plain until the renderer has loaded. */
export function renderText(text: string, isLive: boolean, isCut: boolean) {
  return (
    <Suspense fallback={<p className="wrap-anywhere whitespace-pre-wrap">{text}</p>}>
      <Markdown text={JSON_START.test(text) ? `\`\`\`json\n${text}` : text} isLive={isLive} isCut={isCut} />
    </Suspense>
  );
}

/** Messages that were sent again by themselves. Each is sent again once. */
const sentAgain = new Set<string>();

/** Sends a message that never left once the network is back. Returns the words of its error. */
function useSendWhenOnline({ messages, error, retry }: UseChatStreamResult) {
  const isAway = useStore(isOffline);
  const last = messages.at(-1);
  const unsentId = last?.role === "user" && isUnsent(error) && !sentAgain.has(last.id) ? last.id : undefined;
  useEffect(() => {
    if (isAway || unsentId === undefined) return;
    sentAgain.add(unsentId);
    void retry();
  }, [isAway, unsentId, retry]);
  return (problem: Error) => {
    const description = describeError(problem);
    if (!isUnsent(problem)) return description;
    const hint = unsentId ? "This is sent when you are back." : "Nothing was sent. Try again.";
    return { ...description, title: isAway || unsentId ? "You are offline" : "Not sent", hint };
  };
}
