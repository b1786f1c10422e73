import type { ChatStatus, MessageOutcome, ThreadMessage } from "@sluice/core";
import { useEffect, useState } from "react";

/** So long may an answer be silent before we say that we are still there. */
const SILENCE_MS = 10_000;

/** One line on what is going on: seen while something is, and heard without every word being read out. */
export function StatusLine({ status, last }: { status: ChatStatus; last: ThreadMessage | undefined }) {
  const isBusy = status === "submitted" || status === "streaming";
  const isSilent = useSilence(isBusy, last);
  const isSeen = isBusy || status === "requires-action";
  return (
    <p className={isSeen ? "status" : "status unseen"} role="status">
      {isSilent ? "Nothing has come for a while. Still waiting; Escape stops." : wordsOf(status, last)}
    </p>
  );
}

function wordsOf(status: ChatStatus, last: ThreadMessage | undefined): string {
  if (status === "submitted") return "Waiting for the first word…";
  if (status === "streaming") return doingOf(last);
  if (status === "requires-action") return waitingOf(last);
  // an alert says what went wrong
  if (status === "error" || last?.role !== "assistant") return "";
  if (last.outcome === undefined) return "The answer is coming in another tab.";
  return endings[last.outcome] ?? "The answer is finished.";
}

function doingOf(last: ThreadMessage | undefined): string {
  const call = last?.toolCalls?.find(({ state }) => state === "streaming" || state === "running");
  if (call) return call.state === "running" ? `Running ${call.name}…` : `Calling ${call.name}…`;
  return last?.content === "" ? "Thinking…" : "Answering…";
}

function waitingOf(last: ThreadMessage | undefined): string {
  const call = last?.toolCalls?.find(({ state }) => state === "needs-approval" || state === "needs-result");
  if (!call) return "";
  return call.state === "needs-approval"
    ? `${call.name} waits for your approval, above.`
    : `${call.name} waits for your answer, above.`;
}

const endings: { readonly [Kind in MessageOutcome]?: string } = {
  stopped: "Stopped.",
  interrupted: "The last answer was interrupted.",
};

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
