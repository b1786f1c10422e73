"use client";

import { WrapText } from "lucide-react";
import { type ComponentProps, isValidElement, type ReactNode, useState } from "react";
import { type ExtraProps, useIsCodeFenceIncomplete } from "streamdown";
import { IconButton, Skeleton } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { FORMULA } from "@/components/sluice/formulas";
import { Highlighted } from "@/components/sluice/highlighted-code";
import { markdownWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

/** A shadow at the edge of a box whose wide content continues. At the end of the content, a cover hides the shadow. */
export const edgeShadow =
  "[background:linear-gradient(to_left,var(--color-background),transparent)_right/2rem_100%_no-repeat_local,linear-gradient(to_left,rgb(128_128_128/0.35),transparent)_right/1rem_100%_no-repeat_scroll]";

/** Code of a response, in colors, with its language and tools. */
export function CodeBlock({ children }: ComponentProps<"pre"> & ExtraProps) {
  const isIncomplete = useIsCodeFenceIncomplete();
  const { code, language } = readCode(children);
  if (language === FORMULA) return <Skeleton label={markdownWords.formula} className="h-12" />;
  return <Code code={code} language={language} isIncomplete={isIncomplete} />;
}

interface CodeProps {
  readonly code: string;
  readonly language: string;
  readonly isIncomplete: boolean;
}

function Code({ code, language, isIncomplete }: CodeProps) {
  const [isWrapped, setIsWrapped] = useState(false);
  const name = language || markdownWords.noLanguage;
  return (
    <figure dir="ltr" aria-label={markdownWords.code(name)} className="overflow-hidden rounded-xl border">
      <div className="flex items-center border-b bg-secondary/50 pe-1 ps-3 text-muted-foreground">
        <span className="grow font-mono text-xs">{name}</span>
        <IconButton
          label={markdownWords.wrap}
          aria-pressed={isWrapped}
          onClick={() => setIsWrapped(!isWrapped)}
        >
          <WrapText aria-hidden />
        </IconButton>
        <CopyButton text={code} />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines
        tabIndex={0}
        dir="ltr"
        className={cn(
          "overflow-x-auto p-3 font-mono text-sm -outline-offset-2",
          edgeShadow,
          isWrapped && "wrap-anywhere whitespace-pre-wrap",
        )}
      >
        <Highlighted code={code} language={language} isIncomplete={isIncomplete} />
      </pre>
    </figure>
  );
}

/** The text and the language of a fenced block. */
function readCode(children: ReactNode): { code: string; language: string } {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children))
    return { code: "", language: "" };
  const { className = "", children: text } = children.props;
  const language = /language-(\S+)/.exec(className)?.[1] ?? "";
  return { code: String(Array.isArray(text) ? text.join("") : (text ?? "")).replace(/\n$/, ""), language };
}
