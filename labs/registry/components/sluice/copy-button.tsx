"use client";

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { IconButton } from "@/components/sluice/button";
import { messageWords } from "@/components/sluice/words";

interface CopyButtonProps {
  readonly text: string;
  /** @default the word of `words` */
  readonly label?: string;
}

/** Copies a text. */
export function CopyButton({ text, label = messageWords.copy }: CopyButtonProps) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(() => setIsCopied(false), 1500);
  };
  return (
    <IconButton label={isCopied ? messageWords.copied : label} onClick={() => void copy()}>
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
    </IconButton>
  );
}
