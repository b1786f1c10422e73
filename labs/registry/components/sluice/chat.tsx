"use client";

import type { ChatModel } from "@sluice/core";
import { type UseChatStreamResult, useAttachments } from "@sluice/react";
import { lazy, type ReactNode, Suspense, useEffect, useRef } from "react";
import { AttachButton, Attachments, DropHint } from "@/components/sluice/attachments";
import type { ChatTurnProps } from "@/components/sluice/chat-turn";
import { Composer, Queue } from "@/components/sluice/composer";
import { SyncStatus } from "@/components/sluice/devices";
import { formatModel } from "@/components/sluice/format";
import { groupTurns } from "@/components/sluice/turns";
import { useDraft } from "@/components/sluice/use-draft";
import { useStop } from "@/components/sluice/use-stop";
import { chatWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

const loadTurn = () => import("@/components/sluice/chat-turn");
/** Loads after the composer, because a new chat is empty. */
const ChatTurn = lazy(async () => ({ default: (await loadTurn()).ChatTurn }));

/** Options of `ChatTurn` that the log passes on. */
type TurnOptions =
  | "renderText"
  | "toolTitles"
  | "estimateTool"
  | "renderTool"
  | "describe"
  | "onDetails"
  | "markedId";

interface ChatLogProps extends Pick<ChatTurnProps, TurnOptions> {
  /** Return value of `useChatStream`. With its option `whenBusy: "queue"`, the user may write on during a response. */
  readonly chat: UseChatStreamResult;
  /** Id of the conversation. */
  readonly id: string;
  /** Content of a chat without messages. */
  readonly empty?: ReactNode;
}

interface ChatProps extends ChatLogProps {
  /** Model of the next response. */
  readonly model: string;
  /** Text of the field: return value of `useDraft`. @default the draft of the conversation */
  readonly draft?: Pick<ReturnType<typeof useDraft<string>>, "draft" | "setDraft" | "clearDraft">;
  /** Controls beside the button that adds images: a menu of models. */
  readonly controls?: ReactNode;
  /** Chooses a model that sees images, if the chosen model sees none. @default no button for it */
  readonly onModel?: (model: ChatModel) => void;
}

/** The messages of a chat. It stays at the end while a response grows. */
function ChatLog({ chat, id, empty, ...turnOptions }: ChatLogProps) {
  const { messages, status } = chat;
  const turns = groupTurns(messages);
  const chatOfTabs = { ...chat, stop: useStop(id, chat) };
  useEffect(() => void loadTurn().catch(() => {}), []);
  return (
    <>
      <div
        role="log"
        aria-label={chatWords.messages}
        aria-live="off"
        aria-busy={status === "submitted" || status === "streaming"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        tabIndex={0}
        className={cn(
          "flex grow overflow-y-auto overscroll-contain -outline-offset-2",
          // reversed, so that it stays at its end while a response grows
          turns.length > 0 ? "flex-col-reverse" : "flex-col",
        )}
      >
        <div className="flex grow flex-col">
          {turns.length === 0 && chat.persistence?.status !== "restoring" && empty}
          <Suspense>
            {turns.map((turn, index) => (
              <ChatTurn
                key={turn.id}
                turn={turn}
                chat={chatOfTabs}
                isLast={index === turns.length - 1}
                {...turnOptions}
              />
            ))}
          </Suspense>
        </div>
      </div>
      <p role="status" className="sr-only">
        {chatWords.status[messages.at(-1)?.outcome === "complete" ? "complete" : status]}
      </p>
      <SyncStatus chat={chat} />
    </>
  );
}

/** A whole chat: its messages and the composer. */
export function Chat({ model, draft: givenDraft, controls, onModel, ...log }: ChatProps) {
  const { chat, id } = log;
  const { status, queued } = chat;
  const attachments = useAttachments(model);
  const hasFiles = attachments.images.length > 0;
  const stored = useDraft(`chat/${id}`, "");
  const { draft, setDraft, clearDraft } = givenDraft ?? stored;
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = status === "submitted" || status === "streaming";
  const isStopped = useRef(false);
  const [seeingModel] = attachments.switchTo;
  /** Focuses the field, since the pressed button disappears. On a touch screen, that would open the keyboard. */
  const focusField = () => {
    if (!matchMedia("(pointer: coarse)").matches) field.current?.focus();
  };
  const stop = () => {
    focusField();
    isStopped.current = true;
    chat.stop();
  };
  /** The chat, whose actions move the focus to the field. */
  const focusingChat: typeof chat = {
    ...chat,
    stop,
    send(...inputs: Parameters<typeof chat.send>) {
      focusField();
      return chat.send(...inputs);
    },
    retry() {
      focusField();
      return chat.retry();
    },
    regenerate(...inputs) {
      focusField();
      return chat.regenerate(...inputs);
    },
    approve(...inputs) {
      focusField();
      return chat.approve(...inputs);
    },
    deny(...inputs) {
      focusField();
      return chat.deny(...inputs);
    },
    addToolOutput(...inputs) {
      focusField();
      return chat.addToolOutput(...inputs);
    },
    cancelQueued(...inputs) {
      focusField();
      return chat.cancelQueued(...inputs);
    },
  };
  const send = async () => {
    isStopped.current = false;
    const files = attachments.attachments.map(({ file }) => file);
    clearDraft();
    attachments.clear();
    const turn = await chat.send(draft, { images: attachments.images });
    const isSent = turn.outcome !== "not-sent" || turn.messages.length > 0;
    // the user has removed it from the queue
    const isRemoved = turn.error?.name === "AbortError" && !isStopped.current;
    if (isSent || isRemoved) return;
    // put the text back into the composer, after the text that the user has typed since
    setDraft((typed) => [typed, draft].filter(Boolean).join("\n\n"));
    attachments.add(files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it handles drops, and Escape from its content
    <div
      className="relative flex h-full min-h-0 flex-col"
      onKeyDown={({ key, target, currentTarget }) => {
        // keys of popups come through here, too
        if (key === "Escape" && isBusy && currentTarget.contains(target as Node)) stop();
      }}
      {...attachments.dropProps}
    >
      <ChatLog {...log} chat={focusingChat} />
      <Composer
        field={field}
        text={draft}
        onText={setDraft}
        onSend={() => void send()}
        isBusy={isBusy}
        onStop={stop}
        hasFiles={hasFiles}
        isBlocked={attachments.isPreparing || (hasFiles && !attachments.supportsImages)}
        onPaste={attachments.onPaste}
        before={
          <Queue
            queued={queued}
            isBusy={isBusy}
            onCancel={focusingChat.cancelQueued}
            onRetry={() => void focusingChat.retry()}
          />
        }
        above={
          <Attachments
            attachments={attachments}
            model={formatModel(model)}
            seeingModel={onModel && seeingModel && formatModel(seeingModel)}
            onSwitchModel={() => seeingModel && onModel?.(seeingModel)}
            onDismiss={focusField}
          />
        }
      >
        <AttachButton attachments={attachments} />
        {controls}
      </Composer>
      {attachments.isDragging && <DropHint />}
    </div>
  );
}
