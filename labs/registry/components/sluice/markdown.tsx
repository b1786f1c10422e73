"use client";

import { memo, useEffect, useState } from "react";
import { type PluginConfig, Streamdown } from "streamdown";
import { findFormulas } from "@/components/sluice/formulas";
import { elements } from "@/components/sluice/markdown-elements";
import { runSoon } from "@/components/sluice/soon";
import { cn } from "@/lib/utils";

interface MarkdownProps {
  readonly text: string;
  /** True while the text grows. Open elements are then closed. @default false */
  readonly isLive?: boolean;
  /** True if the text is cut. Open elements are then closed. @default false */
  readonly isCut?: boolean;
}

/** A response's text: Markdown with code in colors, tables and formulas. */
export const Markdown = memo(function Markdown(props: MarkdownProps) {
  const { text, isLive = false, isCut = false } = props;
  const isUnfinished = isLive || isCut;
  const { tex, withPlaceholders, hasMath } = findFormulas(
    isUnfinished ? cutTableHead(text.replace(OPEN_MARK, "")) : text,
    isLive ? "placeholder" : isCut ? "nothing" : "text",
  );
  const math = useMath(hasMath);
  return (
    <Streamdown
      className={cn(
        "flex min-w-0 flex-col gap-3 wrap-anywhere",
        // a formula that is wider than its column scrolls; one in a table stays on one line
        "[&_.katex-display]:[overflow:auto_hidden] [&_.katex-display]:py-1 [&_td_.katex]:whitespace-nowrap",
      )}
      dir="auto"
      parseIncompleteMarkdown={isUnfinished}
      isAnimating={isLive}
      components={elements}
      plugins={math ?? noPlugins}
      controls={false}
    >
      {math ? tex : withPlaceholders}
    </Streamdown>
  );
});

const noPlugins: PluginConfig = {};
let loadedMath: PluginConfig | undefined;

/** The plugin for formulas; undefined before the first formula has loaded it. */
function useMath(hasMath: boolean): PluginConfig | undefined {
  const [math, setMath] = useState(loadedMath);
  useEffect(() => {
    if (!hasMath || math) return;
    let isUnmounted = false;
    loadMath().then(
      (plugins) => runSoon(() => !isUnmounted && setMath(plugins)),
      () => {
        // offline: the formulas are shown as they were written
        if (!isUnmounted) setMath(noPlugins);
      },
    );
    return () => {
      isUnmounted = true;
    };
  }, [hasMath, math]);
  return math;
}

async function loadMath(): Promise<PluginConfig> {
  const { math } = await import("@/components/sluice/formula-math");
  loadedMath ??= { math };
  return loadedMath;
}

/** Unfinished markers of emphasis or code at the end of the text. They would show as characters. */
const OPEN_MARK = /(?<=^|[\s(])[*_~`]{1,3}$/;

/** Omits the head of a table until its second line arrives. Before, it would be a line of bars. */
function cutTableHead(text: string): string {
  const lines = text.split("\n");
  const before = lines.findLastIndex((line) => !line.trimStart().startsWith("|"));
  const rows = lines.length - before - 1;
  // the second line is whole when a third one has begun
  return rows === 1 || rows === 2 ? lines.slice(0, before + 1).join("\n") : text;
}
