import { useEffect, useId, useRef, useState } from "react";
import { useStickToBottom } from "../use-stick-to-bottom.js";
import { Markdown } from "./markdown.js";
import "./reasoning.css";

/** The model's thinking: open while there is nothing else to read, then folded, unless a person says otherwise. */
export function Reasoning({ text, isThinking }: { text: string; isThinking: boolean }) {
  const [choice, setChoice] = useState<boolean>();
  const seconds = useSeconds(isThinking);
  const body = useId();
  const isOpen = choice ?? isThinking;
  const title = seconds === undefined ? "Thoughts" : `Thought for ${seconds} s`;
  return (
    <section className="reasoning" aria-label="Reasoning">
      <button
        type="button"
        className="fold"
        aria-expanded={isOpen}
        aria-controls={body}
        onClick={() => setChoice(!isOpen)}
      >
        {isThinking ? "Thinking…" : title}
      </button>
      <div id={body} hidden={!isOpen}>
        {isOpen && <Thoughts text={text} isThinking={isThinking} />}
      </div>
    </section>
  );
}

function Thoughts({ text, isThinking }: { text: string; isThinking: boolean }) {
  const { box } = useStickToBottom<HTMLDivElement>();
  return (
    <div ref={box} className="thoughts">
      <Markdown text={text} isLive={isThinking} />
    </div>
  );
}

/** How long it thought, once it has stopped; undefined for thoughts that nobody here saw begin. */
function useSeconds(isThinking: boolean): string | undefined {
  const startedAt = useRef<number>(undefined);
  const [seconds, setSeconds] = useState<string>();
  useEffect(() => {
    if (isThinking) startedAt.current ??= performance.now();
    else if (startedAt.current !== undefined)
      setSeconds(((performance.now() - startedAt.current) / 1000).toFixed(1));
  }, [isThinking]);
  return seconds;
}
