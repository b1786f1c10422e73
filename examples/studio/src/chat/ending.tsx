import type { ThreadMessage } from "@sluice/core";
import { describeError, type ErrorAction, type ErrorKind } from "@sluice/react/app";
import clsx from "clsx";
import { CircleAlert, Info, RotateCw, StepForward, Timer } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { retryNow } from "../client.js";
import { useDescription } from "../errors.js";
import { calls } from "../inspector/feed.js";
import { Button, onPressOnce } from "../ui/button.js";
import { useNow, useValue } from "../value.js";
import { endingWords, retryWords, silenceWords, UNANSWERED } from "../words.js";
import { CONTINUE, changeSettings, isWaitingForNetwork, modelWords, useVerbs } from "./chat.js";

interface EndingProps {
  readonly message: ThreadMessage;
  readonly isLast: boolean;
}

/** The end of an answer that is not whole: the reason, and one way on. */
export function Ending({ message, isLast }: EndingProps) {
  const { send, retry } = useVerbs();
  const { outcome, error } = message;
  const rest = () => void send(CONTINUE);
  if (error)
    return (
      <ErrorNote error={error} canRetry={isLast} onRetry={() => void retry()}>
        {isLast && hasRest(message) && <ContinueButton onPress={rest} />}
      </ErrorNote>
    );
  const note = outcome && endingWords[outcome];
  if (!note) return null;
  return (
    <Note icon={<Info aria-hidden />} title={note}>
      {isLast &&
        (canRetry(message) ? (
          <Button {...onPressOnce(() => void retry())}>
            <RotateCw aria-hidden />
            Try again
          </Button>
        ) : (
          <ContinueButton onPress={outcome === "step-limit" ? () => void retry() : rest} />
        ))}
    </Note>
  );
}

function ContinueButton({ onPress }: { readonly onPress: () => void }) {
  return (
    <Button {...onPressOnce(onPress)}>
      <StepForward aria-hidden />
      Continue
    </Button>
  );
}

/** Failures after which the text so far is good, and its rest can be asked for. */
const breaks: readonly ErrorKind[] = ["cutOff", "connectionLost", "stalled", "timedOut"];

function hasRest({ error, content, toolCalls = [] }: ThreadMessage): boolean {
  return content !== "" && toolCalls.length === 0 && breaks.includes(describeError(error).kind);
}

/** Says if the end of an answer offers to ask again. Another button for the same would only confuse. */
export function canRetry({ outcome, error, content }: ThreadMessage): boolean {
  if (error) {
    const { action } = describeError(error);
    return isRepeatable(action) || action === "switch-model";
  }
  if (outcome === "step-limit") return false;
  return outcome === "content-filter" || (outcome !== undefined && outcome in endingWords && content === "");
}

/** The place of an answer that never began. */
export function Unanswered({
  question,
  error,
}: {
  readonly question: ThreadMessage | undefined;
  readonly error: Error | undefined;
}) {
  const { retry } = useVerbs();
  const isWaiting = isWaitingForNetwork(question, error);
  if (error) return <ErrorNote error={error} isWaiting={isWaiting} canRetry onRetry={() => void retry()} />;
  return (
    <Note icon={<Info aria-hidden />} title={UNANSWERED}>
      <Button {...onPressOnce(() => void retry())}>
        <RotateCw aria-hidden />
        Try again
      </Button>
    </Note>
  );
}

interface ErrorNoteProps {
  readonly error: Error;
  /** True where the request goes out by itself once the network is back. @default false */
  readonly isWaiting?: boolean;
  readonly canRetry: boolean;
  readonly onRetry: () => void;
  /** Another action. */
  readonly children?: ReactNode;
}

/** An error in words, with the action that helps. */
function ErrorNote({ error, isWaiting = false, canRetry, onRetry, children }: ErrorNoteProps) {
  const { title, hint, action, retryAt } = useDescription(error, { isWaiting });
  const seconds = useSecondsUntil(retryAt);
  return (
    <div role="alert">
      <Note isError icon={<CircleAlert aria-hidden />} title={title} hint={hint}>
        {canRetry && isRepeatable(action) && (
          <Button {...onPressOnce(onRetry)}>
            <RotateCw aria-hidden />
            Try again{seconds > 0 && ` (${seconds} s)`}
          </Button>
        )}
        {canRetry && action === "switch-model" && (
          <Button
            {...onPressOnce(() => {
              changeSettings({ model: "alpha-v4.1-flash" });
              // after the render that has the new model
              setTimeout(onRetry);
            })}
          >
            Switch to {modelWords["alpha-v4.1-flash"].name}
          </Button>
        )}
        {children}
      </Note>
    </div>
  );
}

function isRepeatable(action: ErrorAction): boolean {
  return action === "retry" || action === "wait" || action === "check-input";
}

interface NoteProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly hint?: string;
  readonly isError?: boolean;
  readonly children?: ReactNode;
}

function Note({ icon, title, hint, isError = false, children }: NoteProps) {
  return (
    <div
      className={clsx(
        "flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl px-3 py-2 text-sm [&>svg]:size-4 [&>svg]:shrink-0",
        isError ? "bg-danger-soft [&>svg]:text-danger" : "border [&>svg]:text-muted",
      )}
    >
      {icon}
      <p className="min-w-40 grow basis-0">
        <span className={clsx(isError && "font-medium")}>{title}</span>
        {hint && <span className="block text-muted">{hint}</span>}
      </p>
      {children}
    </div>
  );
}

/** The wait for the first word, and for the next attempt of a request that failed. */
export function Waiting({ model }: { readonly model?: string | undefined }) {
  const wait = useValue(calls).find((call) => call.kind === "chat" && (!model || call.model === model));
  const step = wait?.steps.at(-1);
  const seconds = useSecondsUntil(step?.type === "retry" ? step.at + step.delayMs : undefined);
  const { title } = useDescription(step?.type === "retry" ? step.error : undefined);
  if (wait && step?.type === "retry")
    return (
      <p className="flex flex-wrap items-center gap-x-2 self-start rounded-xl bg-warn-soft py-1 pr-1 pl-3 text-sm">
        <Timer aria-hidden className="size-4 text-warn" />
        <span role="timer" className="tabular-nums">
          {retryWords(title, seconds)}
        </span>
        <Button look="quiet" onClick={() => retryNow(wait.callId)}>
          Retry now
        </Button>
      </p>
    );
  return <span aria-hidden className="my-2 size-2.5 animate-pulse rounded-full bg-ink" />;
}

/** Silence from which an answer says so, in milliseconds. */
const SILENCE_MS = 8000;

/** Says that an answer has had no new text for a while. Give it a `key` that changes with the text. */
export function Silence() {
  const [since] = useState(Date.now);
  const ms = useNow(1000) - since;
  if (ms < SILENCE_MS) return null;
  return (
    <p className="flex items-center gap-2 text-sm text-muted">
      <Timer aria-hidden className="size-4" />
      <span role="timer" className="tabular-nums">
        {silenceWords(ms)}
      </span>
    </p>
  );
}

/** Seconds until a time, rounded up; 0 from then on, and without a time. */
function useSecondsUntil(time: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  const isPast = time === undefined || time <= now;
  useEffect(() => {
    if (time === undefined) return;
    const update = () => setNow(Date.now());
    const first = setTimeout(update);
    const timer = setInterval(update, 250);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [time]);
  return isPast ? 0 : Math.ceil((time - now) / 1000);
}
