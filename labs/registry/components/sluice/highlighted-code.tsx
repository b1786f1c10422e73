"use client";

import { useEffect, useRef, useState } from "react";
import type { HighlightRequest, HighlightResponse } from "@/components/sluice/highlight-worker";

interface CodeProps {
  readonly code: string;
  readonly language: string;
  /** True while the code still grows. */
  readonly isIncomplete?: boolean;
  /** Chooses the lines that are marked. @default no line */
  readonly isMarked?: (line: string) => boolean;
  /** Called with each marked line once it is on screen. */
  readonly onMarked?: (line: HTMLElement) => void;
}

/** Code in colors. Plain text until the highlighter has responded. */
export function Highlighted({ code, language, isIncomplete = false, isMarked, onMarked }: CodeProps) {
  const result = useHighlight(code, language, isIncomplete);
  if (!result || !code.startsWith(result.code)) return <code>{code}</code>;
  return (
    // the colors follow the theme, even if a class selects it
    <code className="scheme-light dark:scheme-dark">
      {result.tokens.map((line, index) => {
        const marked = isMarked?.(line.map(({ content }) => content).join(""));
        return (
          <span
            key={index}
            {...(marked && {
              "data-marked": true,
              className: "rounded-sm bg-warning/5 outline outline-warning",
            })}
            ref={(element) => {
              if (marked && element) onMarked?.(element);
            }}
          >
            {line.map(({ content, htmlStyle, offset }) => (
              <span key={offset} style={createStyle(htmlStyle)}>
                {content}
              </span>
            ))}
            {index < result.tokens.length - 1 && "\n"}
          </span>
        );
      })}
      {code.slice(result.code.length)}
    </code>
  );
}

/** Colors of both themes: the color scheme of the code chooses. */
function createStyle(style: Record<string, string> | string | undefined) {
  if (typeof style !== "object") return undefined;
  const { color, "--shiki-dark": dark } = style;
  return { color: `light-dark(${color}, ${dark})` };
}

type Tokens = HighlightResponse["tokens"];

let worker: Worker | undefined;
let lastId = 0;
/** Callbacks for the responses of the worker. */
const receivers = new Map<number, (tokens: Tokens | undefined) => void>();

/** Returns the colors of code. Undefined if the worker can't be loaded now. */
function highlight(request: Omit<HighlightRequest, "id">): Promise<Tokens | undefined> {
  worker ??= startWorker();
  lastId += 1;
  const id = lastId;
  worker.postMessage({ ...request, id } satisfies HighlightRequest);
  return new Promise((resolve) => receivers.set(id, resolve));
}

function startWorker(): Worker {
  const started = new Worker(new URL("./highlight-worker.ts", import.meta.url), { type: "module" });
  started.onmessage = ({ data: { id, tokens } }: MessageEvent<HighlightResponse>) => {
    receivers.get(id)?.(tokens);
    receivers.delete(id);
  };
  // the worker could not be loaded: the next request starts another one
  started.onerror = () => {
    worker = undefined;
    for (const receive of receivers.values()) receive(undefined);
    receivers.clear();
  };
  return started;
}

/** Returns the colors of code, or of its beginning while it grows. Sends one request at a time, as the worker may be slower. */
function useHighlight(code: string, language: string, isIncomplete: boolean) {
  const [result, setResult] = useState<{ code: string; tokens: Tokens }>();
  const latest = useRef({ code, language, isIncomplete });
  const isWaiting = useRef(false);
  useEffect(() => {
    latest.current = { code, language, isIncomplete };
    if (!isWaiting.current) void request();

    async function request(): Promise<void> {
      const requested = latest.current;
      isWaiting.current = true;
      const tokens = await highlight(requested);
      isWaiting.current = false;
      if (tokens) setResult({ code: requested.code, tokens });
      if (latest.current !== requested && tokens) void request();
    }
  }, [code, language, isIncomplete]);
  return result;
}
