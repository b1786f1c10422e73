import { useStore } from "@nanostores/react";
import clsx from "clsx";
import { Download, WrapText } from "lucide-react";
import { type ComponentProps, isValidElement, type ReactNode, useEffect, useState } from "react";
import { type ExtraProps, useIsCodeFenceIncomplete } from "streamdown";
import { Chip, IconButton, Skeleton } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { useMedia } from "../browser.js";
import { theme } from "../shell/commands.js";
import { Highlighted, saveText } from "../ui/code.js";
import { FORMULA } from "./formulas.js";

/** Code of an answer, in colours, with its language and tools. A Mermaid diagram is drawn. */
export function CodeBlock({ children }: ComponentProps<"pre"> & ExtraProps) {
  const isIncomplete = useIsCodeFenceIncomplete();
  const { code, language } = partsOf(children);
  if (language === FORMULA) return <Skeleton label="Formula" className="h-12" />;
  const plain = <Code code={code} language={language} isIncomplete={isIncomplete} />;
  if (language !== "mermaid") return plain;
  // a diagram that is not finished can't be drawn
  return isIncomplete ? diagramPlace : <Diagram code={code}>{plain}</Diagram>;
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
        <IconButton
          label="Download"
          onClick={() => saveText(code, `code.${extensions[language] ?? (language || "txt")}`)}
        >
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

/** Endings of files, for languages that have another name. */
const extensions: Readonly<Record<string, string>> = {
  typescript: "ts",
  javascript: "js",
  python: "py",
  bash: "sh",
  markdown: "md",
  mermaid: "mmd",
};

const diagramPlace = <Skeleton label="Diagram" className="h-48" />;

interface DiagramProps {
  /** Mermaid code. */
  readonly code: string;
  /** The code as a block, shown on request and where it can't be drawn. */
  readonly children: ReactNode;
}

/** A Mermaid diagram as an image. */
function Diagram({ code, children }: DiagramProps) {
  const [showsCode, setShowsCode] = useState(false);
  const chosen = useStore(theme);
  const isDarkHere = useMedia("(prefers-color-scheme: dark)");
  const isDark = chosen === "system" ? isDarkHere : chosen === "dark";
  const [drawn, setDrawn] = useState<{ url: string; width: number } | "failed">();

  useEffect(() => {
    let url: string | undefined;
    let isLeft = false;
    draw(code, isDark).then(
      ({ svg, width }) => {
        if (isLeft) return;
        url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
        setDrawn({ url, width });
      },
      () => !isLeft && setDrawn("failed"),
    );
    return () => {
      isLeft = true;
      if (url) URL.revokeObjectURL(url);
    };
  }, [code, isDark]);

  if (drawn === "failed") return children;
  return (
    <div className="flex flex-col gap-2">
      {showsCode ? (
        children
      ) : drawn ? (
        <div className="overflow-x-auto rounded-xl border p-4">
          <img
            src={drawn.url}
            width={drawn.width}
            // a wide diagram scrolls before its text is too small
            style={{ minWidth: drawn.width * 0.75 }}
            alt={`Diagram of ${code.trim().split(/\s/)[0]}`}
            className="mx-auto h-auto max-w-full"
          />
        </div>
      ) : (
        diagramPlace
      )}
      <Chip className="self-start" isPressed={showsCode} onClick={() => setShowsCode(!showsCode)}>
        Code
      </Chip>
    </div>
  );
}

interface Drawing {
  readonly svg: string;
  readonly width: number;
}

/** Longest time that the frame may take to load, in milliseconds. */
const LONGEST_LOAD_MS = 30_000;

let frame: Promise<HTMLIFrameElement> | undefined;

/**
 * Draws a diagram in a hidden frame of this server. Mermaid writes style elements, which the policy of this page
 * refuses; the frame has a policy of its own, and the result is shown as an image.
 */
async function draw(code: string, isDark: boolean): Promise<Drawing> {
  frame ??= openFrame();
  const { contentWindow } = await frame;
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    port1.onmessage = ({ data }: MessageEvent<Drawing | undefined>) => {
      port1.close();
      if (data) resolve(data);
      else reject(new Error("Mermaid can't read this diagram"));
    };
    contentWindow?.postMessage({ code, isDark }, location.origin, [port2]);
  });
}

function openFrame(): Promise<HTMLIFrameElement> {
  const made = document.createElement("iframe");
  made.src = `${import.meta.env.BASE_URL}diagram.html`;
  made.title = "Diagrams";
  made.tabIndex = -1;
  made.ariaHidden = "true";
  made.className = "pointer-events-none fixed top-0 -left-full size-full opacity-0";
  const ready = new Promise<HTMLIFrameElement>((resolve, reject) => {
    // offline: the code is shown, and the next diagram tries again
    const timer = setTimeout(() => {
      made.remove();
      frame = undefined;
      reject(new Error("The frame of diagrams did not load"));
    }, LONGEST_LOAD_MS);
    addEventListener("message", function onReady({ source, data }) {
      if (source !== made.contentWindow || data !== "ready") return;
      removeEventListener("message", onReady);
      clearTimeout(timer);
      resolve(made);
    });
  });
  document.body.append(made);
  return ready;
}
