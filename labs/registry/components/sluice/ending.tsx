"use client";

import { type ChatMessage, describeError, type ErrorDescription } from "@sluice/react";
import { CircleAlert, Info, RotateCw, StepForward } from "lucide-react";
import type { ReactNode } from "react";
import { Button, onPressOnce } from "@/components/sluice/button";
import { useNow } from "@/components/sluice/use-now";
import { endingWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

interface EndingProps {
  /** The response that ended. */
  readonly message: ChatMessage;
  /** Sends the question again: `retry` of `useChatStream`. @default no button */
  readonly onRetry?: (() => unknown) | undefined;
  /** Requests the rest of the text. @default no button */
  readonly onContinue?: (() => unknown) | undefined;
  /** Words of an error. @default `describeError` */
  readonly describe?: ((error: Error) => ErrorDescription) | undefined;
}

/** The end of an incomplete response: the reason, and a button to continue. */
export function Ending({ message, onRetry, onContinue, describe }: EndingProps) {
  const { outcome, error } = message;
  const continueButton = onContinue && (
    <Button {...onPressOnce(() => void onContinue())}>
      <StepForward aria-hidden />
      {endingWords.continue}
    </Button>
  );
  if (error)
    return (
      <ErrorNote error={error} onRetry={onRetry} describe={describe}>
        {hasRest(message) && continueButton}
      </ErrorNote>
    );
  const note = outcome && endingWords.outcomes[outcome];
  if (!note) return null;
  return (
    <Note icon={<Info aria-hidden />} title={note}>
      {canRetry(message) && onRetry ? <RetryButton onRetry={onRetry} /> : continueButton}
    </Note>
  );
}

/** Kinds of errors after which the rest of the text can be requested. */
const resumableKinds: readonly ErrorDescription["kind"][] = [
  "cutOff",
  "connectionLost",
  "stalled",
  "timedOut",
];

function hasRest({ error, content, toolCalls = [] }: ChatMessage): boolean {
  return content !== "" && toolCalls.length === 0 && resumableKinds.includes(describeError(error).kind);
}

/** Returns true if the end of a response shows a button to retry. */
export function canRetry({ outcome, error, content }: ChatMessage): boolean {
  if (error) {
    const { action } = describeError(error);
    return isRepeatable(action) || action === "switch-model";
  }
  if (outcome === "step-limit") return false;
  return (
    outcome === "content-filter" ||
    (outcome !== undefined && outcome in endingWords.outcomes && content === "")
  );
}

interface FailedReplyProps extends Pick<EndingProps, "describe"> {
  /** Error of the chat: `error` of `useChatStream`. */
  readonly error: Error | undefined;
  readonly onRetry: () => unknown;
}

/** Shown for a response that never began. */
export function FailedReply({ error, onRetry, describe }: FailedReplyProps) {
  if (error) return <ErrorNote error={error} onRetry={onRetry} describe={describe} />;
  return (
    <Note icon={<Info aria-hidden />} title={endingWords.noReply}>
      <RetryButton onRetry={onRetry} />
    </Note>
  );
}

interface ErrorNoteProps extends Pick<EndingProps, "onRetry" | "describe"> {
  readonly error: Error;
  /** Another action. */
  readonly children?: ReactNode;
}

/** An error in words, with the action that helps. */
function ErrorNote({ error, onRetry, describe = describeError, children }: ErrorNoteProps) {
  const { title, hint, action, retryAt } = describe(error);
  return (
    <div role="alert">
      <Note isError icon={<CircleAlert aria-hidden />} title={title} hint={hint}>
        {onRetry && isRepeatable(action) && <RetryButton key={retryAt} onRetry={onRetry} retryAt={retryAt} />}
        {children}
      </Note>
    </div>
  );
}

interface RetryButtonProps {
  readonly onRetry: () => unknown;
  /** Earliest time of a useful retry, in Unix milliseconds. */
  readonly retryAt?: number | undefined;
}

function RetryButton({ onRetry, retryAt = 0 }: RetryButtonProps) {
  const now = useNow(250, retryAt > 0);
  const seconds = Math.ceil((retryAt - now) / 1000);
  return (
    <Button {...onPressOnce(() => void onRetry())}>
      <RotateCw aria-hidden />
      {seconds > 0 ? endingWords.retryIn(seconds) : endingWords.retry}
    </Button>
  );
}

function isRepeatable(action: ErrorDescription["action"]): boolean {
  return action === "retry" || action === "wait" || action === "check-input";
}

interface NoteProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly hint?: string | undefined;
  readonly isError?: boolean;
  readonly children?: ReactNode;
}

function Note({ icon, title, hint, isError = false, children }: NoteProps) {
  return (
    <div
      className={cn(
        "flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl px-3 py-2 text-sm [&>svg]:size-4 [&>svg]:shrink-0",
        isError ? "bg-destructive/10 [&>svg]:text-destructive" : "border [&>svg]:text-muted-foreground",
      )}
    >
      {icon}
      <p dir="auto" className="min-w-40 grow basis-0">
        <span className={cn(isError && "font-medium")}>{title}</span>
        {hint && <span className="block text-muted-foreground">{hint}</span>}
      </p>
      {children}
    </div>
  );
}
