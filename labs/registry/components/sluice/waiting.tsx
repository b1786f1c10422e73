"use client";

import { Timer } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "@/components/sluice/button";
import { endingWords } from "@/components/sluice/words";

interface RetryingProps {
  /** Reason of the wait, as `describeError` says it. */
  readonly title: string;
  /** Time of the next attempt; Unix milliseconds. */
  readonly at: number;
  /** Sends it at once. @default no button for it */
  readonly onRetryNow?: () => void;
}

/** The wait for the next attempt of a request that failed. */
export function Retrying({ title, at, onRetryNow }: RetryingProps) {
  const seconds = useSecondsUntil(at);
  return (
    <p className="flex flex-wrap items-center gap-x-2 self-start rounded-xl bg-warning/10 py-1 pr-1 pl-3 text-sm">
      <Timer aria-hidden className="size-4 text-warning" />
      <span role="timer" className="tabular-nums">
        {endingWords.retrying(title, seconds)}
      </span>
      {onRetryNow && (
        <Button look="quiet" onClick={onRetryNow}>
          {endingWords.retryNow}
        </Button>
      )}
    </p>
  );
}

/** The wait for the first word of an answer. */
export function Pending() {
  return <span aria-hidden className="my-2 size-2.5 animate-pulse rounded-full bg-foreground" />;
}

/** Silence from which an answer says so, in milliseconds. */
const SILENCE_MS = 8000;

/** Says that an answer has had no new text for a while. Give it a `key` that changes with the text. */
export function Silence() {
  const [since] = useState(Date.now);
  const [now, setNow] = useState(since);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  if (now - since < SILENCE_MS) return null;
  return (
    <p className="flex items-center gap-2 text-sm text-muted-foreground">
      <Timer aria-hidden className="size-4" />
      <span role="timer" className="tabular-nums">
        {endingWords.silence(now - since)}
      </span>
    </p>
  );
}

/** Seconds until a time in Unix milliseconds, rounded up; 0 from then on, and without a time. */
export function useSecondsUntil(time: number | undefined): number {
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
