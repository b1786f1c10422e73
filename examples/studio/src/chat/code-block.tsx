import type { CodeHighlighterPlugin, HighlightResult } from "@streamdown/code";
import clsx from "clsx";
import { Download, WrapText } from "lucide-react";
import {
  type ComponentProps,
  isValidElement,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useState,
} from "react";
import { type ExtraProps, useIsCodeFenceIncomplete } from "streamdown";
import { IconButton } from "../ui/button.js";
import { CopyButton } from "./actions.js";
import { soon } from "./near.js";

const Diagram = lazy(async () => ({ default: (await import("./diagram.js")).Diagram }));

/** Code of an answer, in colours, with its language and tools. A Mermaid diagram is drawn. */
export function CodeBlock({ children }: ComponentProps<"pre"> & ExtraProps) {
  const isIncomplete = useIsCodeFenceIncomplete();
  const { code, language } = partsOf(children);
  const plain = <Code code={code} language={language} isIncomplete={isIncomplete} />;
  if (language !== "mermaid" || isIncomplete) return plain;
  return (
    <Suspense fallback={plain}>
      <Diagram code={code}>{plain}</Diagram>
    </Suspense>
  );
}

interface CodeProps {
  readonly code: string;
  readonly language: string;
  readonly isIncomplete: boolean;
}

function Code({ code, language, isIncomplete }: CodeProps) {
  const [isWrapped, setIsWrapped] = useState(false);
  return (
    <figure
      dir="ltr"
      aria-label={`Code: ${language || "text"}`}
      className="overflow-hidden rounded-xl border"
    >
      <div className="flex items-center border-b bg-surface pr-1 pl-3 text-muted">
        <span className="grow font-mono text-xs">{language || "text"}</span>
        <IconButton label="Wrap lines" aria-pressed={isWrapped} onClick={() => setIsWrapped(!isWrapped)}>
          <WrapText aria-hidden />
        </IconButton>
        <IconButton label="Download" onClick={() => download(code, language)}>
          <Download aria-hidden />
        </IconButton>
        <CopyButton text={code} label="Copy code" />
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long lines
        tabIndex={0}
        className={clsx(
          "overflow-x-auto p-3 font-mono text-sm -outline-offset-2",
          isWrapped && "wrap-anywhere whitespace-pre-wrap",
        )}
      >
        <Highlighted code={code} language={language} isIncomplete={isIncomplete} />
      </pre>
    </figure>
  );
}

function Highlighted({ code, language, isIncomplete }: CodeProps) {
  const result = useHighlight({ code, language, isIncomplete });
  if (!result || !code.startsWith(result.code)) return <code>{code}</code>;
  return (
    <code>
      {result.tokens.map((line, index) => (
        <span key={index}>
          {line.map(({ content, htmlStyle, offset }) => (
            <span key={offset} style={styleOf(htmlStyle)}>
              {content}
            </span>
          ))}
          {index < result.tokens.length - 1 && "\n"}
        </span>
      ))}
      {code.slice(result.code.length)}
    </code>
  );
}

/** Colours of both themes: the page's colour scheme chooses. */
function styleOf(style: Record<string, string> | string | undefined) {
  if (typeof style !== "object") return undefined;
  const { color, "--shiki-dark": dark } = style;
  return { color: `light-dark(${color}, ${dark})` };
}

const themes = ["github-light-default", "github-dark-default"] as const;
let highlighter: Promise<CodeHighlighterPlugin> | undefined;

/** The colours of some code, or of its beginning while it grows. The highlighter is loaded with the first code. */
function useHighlight({ code, language, isIncomplete }: CodeProps) {
  const [result, setResult] = useState<{ code: string; tokens: HighlightResult["tokens"] }>();
  useEffect(() => {
    let isLeft = false;
    highlighter ??= import("@streamdown/code").then(({ createCodePlugin }) =>
      createCodePlugin({ themes: [...themes] }),
    );
    const show = ({ tokens }: HighlightResult) => !isLeft && setResult({ code, tokens });
    const highlight = (plugin: CodeHighlighterPlugin) => {
      if (isLeft) return;
      const known = plugin.supportsLanguage(language as never) ? language : "text";
      const ready = plugin.highlight(
        { code, language: known as never, themes: [...themes], isIncomplete },
        show,
      );
      if (ready) show(ready);
    };
    // code that grows is not put off
    void highlighter.then((plugin) => (isIncomplete ? highlight(plugin) : soon(() => highlight(plugin))));
    return () => {
      isLeft = true;
    };
  }, [code, language, isIncomplete]);
  return result;
}

/** The text and the language of a fenced block. */
function partsOf(children: ReactNode): { code: string; language: string } {
  if (!isValidElement<{ className?: string; children?: ReactNode }>(children))
    return { code: "", language: "" };
  const { className = "", children: text } = children.props;
  const language = /language-(\S+)/.exec(className)?.[1] ?? "";
  return { code: String(Array.isArray(text) ? text.join("") : (text ?? "")).replace(/\n$/, ""), language };
}

const extensions: Readonly<Record<string, string>> = {
  typescript: "ts",
  javascript: "js",
  python: "py",
  bash: "sh",
  markdown: "md",
  mermaid: "mmd",
};

function download(code: string, language: string): void {
  const url = URL.createObjectURL(new Blob([code], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `code.${extensions[language] ?? (language || "txt")}`;
  link.click();
  URL.revokeObjectURL(url);
}
