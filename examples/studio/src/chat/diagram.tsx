import { useStore } from "@nanostores/react";
import { type ComponentProps, useEffect, useState } from "react";
import { Chip, Skeleton } from "@/components/sluice/button";
import { Markdown as Plain } from "@/components/sluice/markdown";
import type { BlockProps } from "@/components/sluice/markdown-context";
import { useMedia } from "../browser.js";
import { theme } from "../shell/commands.js";

/** An answer's text as the registry's Markdown, with its Mermaid diagrams drawn. */
export function Markdown(props: ComponentProps<typeof Plain>) {
  return <Plain blocks={blocks} {...props} />;
}

const blocks = { mermaid: Block };

function Block({ isIncomplete, ...diagram }: BlockProps) {
  // a diagram that is not finished can't be drawn
  return isIncomplete ? diagramPlace : <Diagram {...diagram} />;
}

const diagramPlace = <Skeleton label="Diagram" className="h-48" />;

/** A Mermaid diagram as an image. */
function Diagram({ code, children }: Omit<BlockProps, "isIncomplete">) {
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
