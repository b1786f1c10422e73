"use client";

import { describeError, type UseChatStreamResult } from "@sluice/react";
import { Square } from "lucide-react";
import { Badge, Button } from "@/components/sluice/button";
import { deviceWords } from "@/components/sluice/words";

interface ElsewhereProps {
  /** Return value of `useChatStream`. */
  readonly chat: Pick<UseChatStreamResult, "isRunningElsewhere" | "stop">;
}

/** Says that another tab or a server generates the response, and can stop it. */
export function Elsewhere({ chat }: ElsewhereProps) {
  if (!chat.isRunningElsewhere) return null;
  return (
    <p className="flex items-center gap-2">
      <Badge tone="info">
        <span aria-hidden className="size-2 animate-pulse rounded-full bg-info" />
        {deviceWords.elsewhere}
      </Badge>
      <Button variant="quiet" onClick={chat.stop}>
        <Square aria-hidden className="fill-current" />
        {deviceWords.stop}
      </Button>
    </p>
  );
}

interface SyncStatusProps {
  /** Return value of `useChatStream`. */
  readonly chat: Pick<UseChatStreamResult, "persistence">;
}

/** Shows unsent changes, and changes that this browser could not store. */
export function SyncStatus({ chat: { persistence } }: SyncStatusProps) {
  const { status, pending = 0, error } = persistence ?? {};
  const problem =
    status === "unsaved"
      ? { title: deviceWords.unsaved(pending), hint: deviceWords.unsavedHint }
      : error && describeError(error);
  const hint = problem ? problem.hint : status === "saving" && deviceWords.syncing;
  return (
    // the element exists before its text, so that screen readers announce the text
    <div role="status" className="px-4 text-center text-xs">
      {hint && (
        <p className="pb-1">
          {problem && <span className="text-warning">{problem.title} </span>}
          <span className="text-muted-foreground">{hint}</span>
        </p>
      )}
    </div>
  );
}
