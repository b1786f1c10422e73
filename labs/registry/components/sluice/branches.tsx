"use client";

import type { ChatMessage } from "@sluice/react";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { IconButton } from "@/components/sluice/button";
import { branchWords } from "@/components/sluice/words";

interface BranchesProps {
  readonly message: ChatMessage;
  /** Shows another version: `switchBranch` of `useChatStream`. */
  readonly onSwitch: (messageId: string) => void;
}

/** Arrows between the versions of a message. Renders nothing for a single version. */
export function Branches({ message: { id, branches = [id] }, onSwitch }: BranchesProps) {
  const { previous, next } = branchWords;
  if (branches.length < 2) return null;
  const index = branches.indexOf(id);
  const show = (versionIndex: number) => {
    const version = branches[versionIndex];
    if (version !== undefined) onSwitch(version);
  };
  return (
    <div className="flex items-center">
      <IconButton label={previous} disabled={index <= 0} onClick={() => show(index - 1)}>
        <ChevronLeft aria-hidden />
      </IconButton>
      <span className="text-xs tabular-nums">
        {index + 1}/{branches.length}
      </span>
      <IconButton label={next} disabled={index >= branches.length - 1} onClick={() => show(index + 1)}>
        <ChevronRight aria-hidden />
      </IconButton>
    </div>
  );
}
