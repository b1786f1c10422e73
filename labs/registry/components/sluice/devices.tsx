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
}

/** Says where an answer is from, and stops it there. */
export function AnswerSource({ text, isLive = false, onStop }: AnswerSourceProps) {
  return (
    <p className="flex items-center gap-2">
      <Badge tone={isLive ? "info" : "neutral"}>
        {isLive && <span aria-hidden className="size-2 animate-pulse rounded-full bg-info" />}
        {text}
      </Badge>
      {onStop && (
        <Button look="quiet" onClick={onStop}>
          <Square aria-hidden className="fill-current" />
          {deviceWords.stop}
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
}

/** Says that another tab, or a server, answers. */
export function Elsewhere({ chat, isLast }: ElsewhereProps) {
  return isLast && chat.isRunningElsewhere ? (
    <AnswerSource isLive text={deviceWords.elsewhere} onStop={chat.stop} />
  ) : null;
}

/** Describes an error of a chat on several devices. `describeError` describes the others. */
export function describeSyncError(
  error: Error & { readonly code?: unknown },
): Pick<ErrorDescription, "title" | "hint"> {
  const key = typeof error.code === "string" ? error.code : "";
  const { errors } = deviceWords;
  return Object.hasOwn(errors, key) ? errors[key as keyof typeof errors] : describeError(error);
}

interface SyncStatusProps {
  /** Return value of `useChatStream`. */
  readonly chat: Pick<UseChatStreamResult, "sync" | "unsaved">;
  /** Words of an error. @default `describeSyncError` */
  readonly describe?: (error: Error) => Pick<ErrorDescription, "title" | "hint">;
}

/** Says what the server does not have yet, and what this device could not keep. */
export function SyncStatus({ chat, describe = describeSyncError }: SyncStatusProps) {
  const { sync, unsaved } = chat;
  if (unsaved > 0) return <SyncNote title={deviceWords.unsaved(unsaved)} hint={deviceWords.unsavedHint} />;
  if (sync?.error) {
    const { title, hint } = describe(sync.error);
    return <SyncNote title={title} hint={hint} />;
  }
  return <SyncNote {...(sync?.isSyncing && { hint: deviceWords.syncing })} />;
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
