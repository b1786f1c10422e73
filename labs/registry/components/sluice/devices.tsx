"use client";

import { describeError, type ErrorDescription, type UseChatStreamResult } from "@sluice/react";
import { Square } from "lucide-react";
import { Badge, Button } from "@/components/sluice/button";
import { deviceWords } from "@/components/sluice/words";

interface AnswerSourceProps {
  /** Origin of the answer: that of its message, or a chat of another tab. */
  readonly text: string;
  /** True while it is in flight there. @default false */
  readonly isLive?: boolean;
  /** Stops it there: `stop` of `useChatStream`. @default no button for it */
  readonly onStop?: (() => void) | undefined;
  readonly words?: Partial<typeof deviceWords>;
}

/** Says where an answer is from, and stops it there. */
export function AnswerSource({ text, isLive = false, onStop, ...props }: AnswerSourceProps) {
  const words = { ...deviceWords, ...props.words };
  return (
    <p className="flex items-center gap-2">
      <Badge tone={isLive ? "info" : "neutral"}>
        {isLive && <span aria-hidden className="size-2 animate-pulse rounded-full bg-info" />}
        {text}
      </Badge>
      {onStop && (
        <Button look="quiet" onClick={onStop}>
          <Square aria-hidden className="fill-current" />
          {words.stop}
        </Button>
      )}
    </p>
  );
}

interface ElsewhereProps {
  /** Return value of `useChatStream`. */
  readonly chat: Pick<UseChatStreamResult, "isRunningElsewhere" | "stop">;
  /** True for the last message of the chat: the one that another tab may work on. */
  readonly isLast: boolean;
  readonly words?: Partial<typeof deviceWords>;
}

/** Says that another tab, or a server, answers. */
export function Elsewhere({ chat, isLast, ...props }: ElsewhereProps) {
  const words = { ...deviceWords, ...props.words };
  return isLast && chat.isRunningElsewhere ? (
    <AnswerSource isLive text={words.elsewhere} onStop={chat.stop} words={words} />
  ) : null;
}

/** Describes an error of a chat on several devices. `describeError` describes the others. */
export function describeSyncError(
  error: Error & { readonly code?: unknown },
  words = deviceWords.errors,
): Pick<ErrorDescription, "title" | "hint"> {
  const key = typeof error.code === "string" ? error.code : "";
  return Object.hasOwn(words, key) ? words[key as keyof typeof words] : describeError(error);
}

interface SyncStatusProps {
  /** Return value of `useChatStream`. */
  readonly chat: Pick<UseChatStreamResult, "sync" | "unsaved">;
  /** Words of an error. @default `describeSyncError` */
  readonly describe?: (error: Error) => Pick<ErrorDescription, "title" | "hint">;
  readonly words?: Partial<typeof deviceWords>;
}

/** Says what the server does not have yet, and what this device could not keep. */
export function SyncStatus({ chat, describe = describeSyncError, ...props }: SyncStatusProps) {
  const { sync, unsaved } = chat;
  const words = { ...deviceWords, ...props.words };
  if (unsaved > 0) return <SyncNote title={words.unsaved(unsaved)} hint={words.unsavedHint} />;
  if (sync?.error) {
    const { title, hint } = describe(sync.error);
    return <SyncNote title={title} hint={hint} />;
  }
  return <SyncNote {...(sync?.isSyncing && { hint: words.syncing })} />;
}

interface SyncNoteProps {
  /** What is wrong. */
  readonly title?: string | undefined;
  /** What happens, or what to do. */
  readonly hint?: string | undefined;
}

/** A line about what is kept. Its place is there without one, so that screen readers hear when it comes. */
export function SyncNote({ title, hint }: SyncNoteProps) {
  return (
    <div role="status" className="px-4 text-center text-xs">
      {(title ?? hint) && (
        <p className="pb-1">
          {title && <span className="text-warning">{title} </span>}
          <span className="text-muted-foreground">{hint}</span>
        </p>
      )}
    </div>
  );
}
