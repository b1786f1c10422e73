import { code as highlighter } from "@streamdown/code";
import { type CSSProperties, useEffect, useState } from "react";

/** Themes of which each colour has enough contrast. */
const themes: Themes = ["github-light-default", "github-dark-default"];

type Result = NonNullable<ReturnType<typeof highlighter.highlight>>;
type Themes = ReturnType<typeof highlighter.getThemes>;
type Language = "tsx" | "shellscript" | "json";

/** Code with its colours; plain until the highlighter is there. */
export function Highlighted({ code, language }: { readonly code: string; readonly language: Language }) {
  const [done, setDone] = useState<{ readonly code: string; readonly result: Result }>();

  useEffect(() => {
    let isCurrent = true;
    const show = (result: Result) => isCurrent && setDone({ code, result });
    const ready = highlighter.highlight({ code, language, themes }, show);
    if (ready) show(ready);
    return () => {
      isCurrent = false;
    };
  }, [code, language]);

  return (
    <section
      aria-label="Code"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by the keyboard
      tabIndex={0}
      className="overflow-x-auto bg-canvas p-4 font-mono text-xs -outline-offset-2"
    >
      <pre className="font-mono">
        <code>{done?.code === code ? <Lines result={done.result} /> : code}</code>
      </pre>
    </section>
  );
}

function Lines({ result }: { readonly result: Result }) {
  return result.tokens.map((line, at) => (
    <span key={at}>
      {line.map(({ content, htmlStyle, color }, index) => (
        <span key={index} style={twoColors(htmlStyle, color)}>
          {content}
        </span>
      ))}
      {"\n"}
    </span>
  ));
}

/** The colours of both themes, as one that follows the page's. */
function twoColors(style: Record<string, string> | undefined, color: string | undefined): CSSProperties {
  const light = style?.["color"] ?? color;
  const dark = style?.["--shiki-dark"];
  return light && dark ? { color: `light-dark(${light}, ${dark})` } : { color: light };
}
