import { useStore } from "@nanostores/react";
import { SluiceDevtoolsPanel } from "@sluice/devtools/production";
import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { Highlighted } from "@/components/sluice/highlighted-code";
import { prices } from "./prices.js";
import { Receipts } from "./receipts.js";
import { openRoute, type Room } from "./rooms.js";
import {
  inspectorTab,
  inspectorTabs,
  isInspectorOpen,
  isWide,
  markedMessage,
  runningCode,
  shownCall,
} from "./state.js";

/** Shows the code of the current room, the requests of the client, and their costs. */
export function Inspector({ room }: { readonly room: Room }) {
  const tab = useStore(inspectorTab);
  const call = useStore(shownCall);
  return (
    <>
      <div className="flex items-center gap-1 border-b p-2">
        {inspectorTabs.map((name) => (
          <Button
            key={name}
            variant="quiet"
            aria-pressed={name === tab}
            className="aria-pressed:bg-secondary aria-pressed:text-foreground"
            onClick={() => inspectorTab.set(name)}
          >
            {name}
          </Button>
        ))}
        <span className="grow" />
        <IconButton label="Close the inspector" onClick={() => isInspectorOpen.set(false)}>
          <X aria-hidden />
        </IconButton>
      </div>
      {tab === "Code" && <Source key={room.name} room={room} />}
      {tab === "Receipts" && <Receipts />}
      {tab === "Calls" && (
        <div className="min-h-0 grow">
          <SluiceDevtoolsPanel
            key={call?.count}
            messageId={call?.messageId}
            prices={prices}
            onShowMessage={showMessage}
          />
        </div>
      )}
    </>
  );
}

function showMessage(messageId: string, chatId: string | undefined): void {
  markedMessage.set(messageId);
  openRoute("chat", chatId);
  if (!isWide()) isInspectorOpen.set(false);
}

/** Loads the files of the rooms, by their paths. */
const sources = import.meta.glob<string>("./*-room.tsx", { query: "?raw", import: "default" });

/** The file of a room. The line that runs now is marked. */
function Source({ room }: { readonly room: Room }) {
  const [code, setCode] = useState("");
  const box = useRef<HTMLPreElement>(null);
  const running = useStore(runningCode);
  // the room names the code in quotes
  const isRunning = (line: string) =>
    running !== undefined && line.includes(running) && !line.includes(`"${running}`);
  useEffect(() => {
    let isLeft = false;
    sources[`./${room.name}-room.tsx`]?.().then(
      (text) => !isLeft && setCode(text),
      () => !isLeft && setCode("// This part could not load."),
    );
    return () => {
      isLeft = true;
    };
  }, [room]);
  useEffect(() => {
    // the room begins after its imports
    const lines = code.split("\n");
    const start = lines.findIndex((line) => line.startsWith("export function"));
    if (box.current) box.current.scrollTop = (start / lines.length) * box.current.scrollHeight;
  }, [code]);
  const show = (line: HTMLElement) => {
    if (box.current) box.current.scrollTop = line.offsetTop - 120;
  };
  return (
    <>
      <p className="px-3 py-2 text-xs text-muted-foreground">
        This is <code>src/{room.name}-room.tsx</code>, the whole room.
      </p>
      <section aria-label="Code" className="flex min-h-0 grow flex-col">
        <pre
          ref={box}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
          tabIndex={0}
          dir="ltr"
          className="relative min-h-0 grow overflow-auto px-3 pb-3 font-mono text-xs -outline-offset-2"
        >
          <Highlighted code={code} language="tsx" isMarked={isRunning} onMarked={show} />
        </pre>
      </section>
    </>
  );
}
