import { useStore } from "@nanostores/react";
import { Pause, Play, RotateCcw } from "lucide-react";
import { atom } from "nanostores";
import { useEffect, useState } from "react";
import { IconButton } from "@/components/sluice/button";
import file from "./replies/canal-lock.md?raw";

const QUESTION = "How does a canal lock work?";

/** The demo's response as plain text, without its head and its end. */
const paragraphs = file
  .replace(/^---.*?---\s|<!--.*$/gs, "")
  .replace(/\*\*|^#.*$/gm, "")
  .trim()
  .split(/\n+/)
  .slice(0, 6);

const code = `const client = createClient({
  baseURL: "/api",
  resume: streamResumption(),
});

const stream = streamChat(client, {
  model: "alpha-v4.1-flash",
  messages: [{ role: "user", content }],
});
for await (const delta of stream)
  if (delta.type === "text-delta")
    show(delta.text);

const { outcome } = await stream.result();`.split("\n");

/** Part of the recording: what happens, the code that runs, and the words that have arrived at its end. */
interface Scene {
  readonly status: string;
  readonly runs: string;
  readonly words: number;
  /** Length in ticks, for a scene without new words. */
  readonly ticks?: number;
}

const countWords = (texts: readonly string[]) => texts.join(" ").split(" ").length;
const WORDS = countWords(paragraphs);

/** Returns the part of a paragraph that has arrived with the first words of the response. */
function cutParagraph(at: number, words: number): string {
  const before = at === 0 ? 0 : countWords(paragraphs.slice(0, at));
  const own = paragraphs[at]?.split(" ") ?? [];
  return own.slice(0, Math.max(0, words - before)).join(" ");
}
const CUT = Math.round(WORDS / 2);
const scenes: readonly Scene[] = [
  { status: "Sending", runs: "streamChat(", words: 0, ticks: 8 },
  { status: "Streaming", runs: "show(", words: CUT },
  { status: "Connection lost, resuming", runs: "resume:", words: CUT, ticks: 14 },
  { status: "Streaming", runs: "show(", words: WORDS },
];
const END: Scene = { status: "Complete", runs: "stream.result(", words: WORDS };

const TICK_MS = 90;

/** Ticks since the start. It outlives the component, which mounts again once the room has loaded. */
const position = atom(matchMedia("(prefers-reduced-motion: reduce)").matches ? Number.POSITIVE_INFINITY : 0);

/** Finds the scene at a tick, and the words that have arrived. */
function findScene(tick: number): Scene {
  let start = 0;
  let before = 0;
  for (const scene of scenes) {
    const ticks = scene.ticks ?? scene.words - before;
    if (tick < start + ticks) return { ...scene, words: scene.ticks ? scene.words : before + tick - start };
    start += ticks;
    before = scene.words;
  }
  return END;
}

/** Plays a response of the demo beside the code that runs. It sends nothing. */
export function Recording() {
  const tick = useStore(position);
  const [isPaused, setPaused] = useState(false);
  const { status, runs, words } = findScene(tick);
  const isOver = status === END.status;
  const isPlaying = !isPaused && !isOver;
  useEffect(() => {
    if (!isPlaying) return;
    const timer = setInterval(() => position.set(position.get() + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [isPlaying]);
  const press = () => {
    if (isOver) position.set(0);
    setPaused(isPlaying);
  };
  const [label, Icon] = isOver ? ["Replay", RotateCcw] : isPaused ? ["Play", Play] : ["Pause", Pause];
  return (
    <figure
      aria-label="Recorded response"
      className="@container w-full overflow-hidden rounded-2xl border bg-card"
    >
      <div className="grid @xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-2 p-3 text-sm">
          <p className="self-end rounded-2xl bg-secondary px-3 py-1">{QUESTION}</p>
          {paragraphs.map((paragraph, at) => {
            const shown = cutParagraph(at, words);
            return (
              <p key={paragraph}>
                {shown}
                {/* reserve the space of the rest, so that the layout does not move */}
                <span className="invisible">{paragraph.slice(shown.length)}</span>
              </p>
            );
          })}
          <div className="mt-auto flex items-center gap-2 text-xs text-muted-foreground">
            <span className={runs === "resume:" ? "text-warning" : isOver ? "text-success" : ""}>
              {status}
            </span>
            <IconButton label={`${label} the recording`} className="ms-auto" onClick={press}>
              <Icon aria-hidden />
            </IconButton>
          </div>
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
          tabIndex={0}
          dir="ltr"
          className="overflow-x-auto border-t bg-muted p-3 font-mono text-xs text-muted-foreground -outline-offset-2 @xl:border-t-0 @xl:border-s"
        >
          {code.map((line, at) => (
            <code
              key={at}
              {...(line.includes(runs) && { "data-runs": true })}
              className="block min-h-5 w-max min-w-full rounded-sm leading-5 data-runs:bg-primary/15 data-runs:text-foreground"
            >
              {line}
            </code>
          ))}
        </pre>
      </div>
    </figure>
  );
}
