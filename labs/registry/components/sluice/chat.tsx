"use client";

import { type UseChatStreamResult, useAttachments } from "@sluice/react";
import { type ReactNode, useRef } from "react";
import { AttachButton, Attachments, DropHint } from "@/components/sluice/attachments";
import { ChatTurn, type ChatTurnProps, turnsOf } from "@/components/sluice/chat-turn";
import { Composer, Queue } from "@/components/sluice/composer";
import { SyncStatus } from "@/components/sluice/devices";
import { useDraft } from "@/components/sluice/use-draft";
import { chatWords } from "@/components/sluice/words";

interface ChatProps extends Pick<ChatTurnProps, "renderText" | "toolTitles" | "renderTool" | "words"> {
  /** Return value of `useChatStream`. With its option `whenBusy: "queue"`, the user may write on during an answer. */
  readonly chat: UseChatStreamResult;
  /** Name of the draft: that of the conversation. */
  readonly id: string;
  /** Model of the next answer. */
  readonly model: string;
  /** Content of a chat without messages. */
  readonly empty?: ReactNode;
  /** Content below the place to write, for what is written: `MessageCost`. */
  readonly below?: (text: string, images: number) => ReactNode;
  /** Controls beside the button that adds images: a menu of models. */
  readonly controls?: ReactNode;
}

/** A whole chat: its messages, and the place to write more. */
export function Chat({ chat, id, model, empty, below, controls, ...show }: ChatProps) {
  const words = { ...chatWords, ...show.words };
  const { messages, status, queued } = chat;
  const attachments = useAttachments(model);
  const { draft, setDraft, clearDraft } = useDraft(`chat/${id}`, "");
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = status === "submitted" || status === "streaming";
  const turns = turnsOf(messages);
  const send = async () => {
    const files = attachments.attachments.map(({ file }) => file);
    clearDraft();
    attachments.clear();
    const sent = await chat.send(draft, { images: attachments.images });
    if (sent.outcome !== "not-sent" || sent.messages.length > 0) return;
    // not sent: what was written comes back
    setDraft((later) => later || draft);
    attachments.add(files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it takes drops, and Escape from what is inside
    <div
      className="relative flex h-full min-h-0 flex-col"
      onKeyDown={({ key }) => key === "Escape" && isBusy && chat.stop()}
      {...attachments.dropProps}
    >
      <div
        role="log"
        aria-label={words.messages}
        aria-live="off"
        aria-busy={isBusy}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        tabIndex={0}
        // reversed, so that it stays at its end while an answer grows
        className="flex grow flex-col-reverse overflow-y-auto overscroll-contain -outline-offset-2"
      >
        <div className="flex grow flex-col">
          {turns.length === 0 && !chat.isRestoring && empty}
          {turns.map((turn, at) => (
            <ChatTurn key={turn.id} turn={turn} chat={chat} isLast={at === turns.length - 1} {...show} />
          ))}
        </div>
      </div>
      <p role="status" className="sr-only">
        {words.status[messages.at(-1)?.outcome === "complete" ? "complete" : status]}
      </p>
      <SyncStatus chat={chat} />
      <Composer
        field={field}
        text={draft}
        onText={setDraft}
        onSend={() => void send()}
        isBusy={isBusy}
        onStop={chat.stop}
        hasFiles={attachments.images.length > 0}
        isBlocked={attachments.isPreparing || attachments.isBlind}
        onPaste={attachments.onPaste}
        below={below?.(draft, attachments.images.length)}
        before={
          <Queue
            queued={queued}
            isBusy={isBusy}
            onCancel={chat.cancelQueued}
            onRetry={() => void chat.retry()}
          />
        }
        above={
          <Attachments attachments={attachments} model={model} onDismiss={() => field.current?.focus()} />
        }
      >
        <AttachButton attachments={attachments} />
        {controls}
      </Composer>
      {attachments.isDragging && <DropHint />}
    </div>
  );
}
