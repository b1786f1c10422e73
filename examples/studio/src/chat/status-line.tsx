import type { ChatStatus, ThreadMessage } from "@sluice/core";
import { useEffect, useState } from "react";

/** So long may an answer be silent before we say that we are still there. */
const SILENCE_MS = 10_000;

/** One line on what is going on: seen while something is, and heard without every word being read out. */
export function StatusLine({ status, last }: { status: ChatStatus; last: ThreadMessage | undefined }) {
  const isBusy = status === "submitted" || status === "streaming";
  const isSilent = useSilence(isBusy, last);
  return (
    <p className={isBusy ? "status" : "status unseen"} role="status">
      {isSilent ? "Nothing has come for a while. Still waiting; Escape stops." : wordsOf(status, last)}
    </p>
  );
}

function wordsOf(status: ChatStatus, last: ThreadMessage | undefined): string {
  if (status === "submitted") return "Waiting for the first word…";
  if (status === "streaming") return last?.content === "" ? "Thinking…" : "Answering…";
  // an alert says what went wrong
  if (status === "error" || last?.role !== "assistant") return "";
  return last.outcome === "stopped" ? "Stopped." : "The answer is finished.";
}

/** Whether nothing of `sign` has changed for a while. */
function useSilence(isActive: boolean, sign: unknown): boolean {
  const [silentAt, setSilentAt] = useState<unknown>();
  useEffect(() => {
    if (!isActive) return;
    const timer = setTimeout(() => setSilentAt(sign), SILENCE_MS);
    return () => clearTimeout(timer);
  }, [isActive, sign]);
  return isActive && silentAt === sign;
}
