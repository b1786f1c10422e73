import { code as highlighter } from "@streamdown/code";
import { Check, Copy } from "lucide-react";
import { type CSSProperties, useEffect, useState } from "react";
import { client } from "../client.js";
import { Button } from "../ui/button.js";
import { Chip } from "../ui/chip.js";
import { useValue } from "../value.js";
import { inspected } from "./inspected.js";
import { snippet, type Target } from "./snippets/snippet.js";

const labels: Readonly<Record<Target, string>> = {
  react: "React",
  script: "Script",
  worker: "Worker",
  curl: "curl",
};
const targets = Object.entries(labels) as [Target, string][];

/** The code that does what the room does now, with its settings. */
export function CodeView() {
  const shown = useValue(inspected);
  const [target, setTarget] = useState<Target>("react");
  if (!shown) return null;
  const code = snippet(shown.work, target, client.baseURL);
  return (
    <>
      <div className="flex items-center justify-between gap-2 p-2 pb-0">
        <fieldset className="flex gap-1">
          <legend className="sr-only">Language</legend>
          {targets.map(([name, label]) => (
            <Chip
              key={name}
              isPressed={name === target}
              className="border-transparent px-2.5 text-xs"
              onClick={() => setTarget(name)}
            >
              {label}
            </Chip>
          ))}
        </fieldset>
        <CopyButton key={code} text={code} />
      </div>
      <Highlighted code={code} language={target === "curl" ? "shellscript" : "tsx"} />
      <p className="mt-auto border-t p-4 text-xs text-muted">
        Runs as it is. It follows the settings of this room.
      </p>
    </>
  );
}

function CopyButton({ text }: { readonly text: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => void navigator.clipboard.writeText(text).then(() => setIsCopied(true));
  return (
    <Button look="quiet" onClick={copy}>
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
      {isCopied ? "Copied" : "Copy"}
    </Button>
  );
}

/** Themes of which each colour has enough contrast. */
const themes: Themes = ["github-light-default", "github-dark-default"];

type Result = NonNullable<ReturnType<typeof highlighter.highlight>>;
type Themes = ReturnType<typeof highlighter.getThemes>;
type Language = "tsx" | "shellscript" | "json";

/** Code with its colours; plain until the highlighter is there. */
function Highlighted({ code, language }: { readonly code: string; readonly language: Language }) {
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
