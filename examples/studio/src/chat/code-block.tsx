import clsx from "clsx";
import { Download, WrapText } from "lucide-react";
import { type ComponentProps, isValidElement, type ReactNode, useState } from "react";
import { type ExtraProps, useIsCodeFenceIncomplete } from "streamdown";
import { IconButton, Skeleton } from "../ui/button.js";
import { CopyButton, Highlighted } from "../ui/code.js";
import { later } from "../ui/later.js";
import { FORMULA } from "./formulas.js";

const Diagram = later(async () => (await import("./diagram.js")).Diagram);

/** Code of an answer, in colours, with its language and tools. A Mermaid diagram is drawn. */
export function CodeBlock({ children }: ComponentProps<"pre"> & ExtraProps) {
  const isIncomplete = useIsCodeFenceIncomplete();
  const { code, language } = partsOf(children);
  if (language === FORMULA) return <Skeleton label="Formula" className="h-12" />;
  const plain = <Code code={code} language={language} isIncomplete={isIncomplete} />;
  if (language !== "mermaid") return plain;
  const place = <Skeleton label="Diagram" className="h-48" />;
  // a diagram that is not finished can't be drawn
  if (isIncomplete) return place;
  return (
    <Diagram code={code} fallback={place} failed={plain}>
      {plain}
    </Diagram>
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
