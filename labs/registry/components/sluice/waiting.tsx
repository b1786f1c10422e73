"use client";

import { Timer } from "lucide-react";
import { useState } from "react";
import { useNow } from "@/components/sluice/use-now";
import { endingWords } from "@/components/sluice/words";

/** The wait for the first word of a response. */
export function Pending() {
  return <span aria-hidden className="my-2 size-2.5 animate-pulse rounded-full bg-foreground" />;
}

/** Silence before the indicator mentions it, in milliseconds. */
const SILENCE_MS = 8000;

/** Says that a response has had no new text for a while. Give it a `key` that changes with the text. */
export function Silence() {
  const [since] = useState(Date.now);
  const silentMs = useNow(1000) - since;
  if (silentMs < SILENCE_MS) return null;
  return (
    <p className="flex items-center gap-2 text-sm text-muted-foreground">
      <Timer aria-hidden className="size-4" />
      <span role="timer" className="tabular-nums">
        {endingWords.silence(silentMs)}
      </span>
    </p>
  );
}
