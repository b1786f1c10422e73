import type { IncomingMessage, ServerResponse } from "node:http";
import { inTurns, short, toFigure, toRatio } from "../harness.ts";
import { type BenchPage, openMainThread, openPage } from "../page.ts";
import type { Run } from "../pages/react.tsx";
import { formatTable, type Report } from "../topic.ts";
import { END, makeEvents } from "../workload.ts";

export const title = "React";

/** A chat to show: the number of past messages, the deltas of a response, and the number of deltas per write. */
interface Scene {
  readonly past: number;
  readonly deltas: readonly string[];
  readonly perWrite: number;
  readonly pauseMs: number;
  readonly rounds: number;
  /** Keys are pressed in a field above the messages while the response streams. */
  readonly isTyping?: boolean;
}

/** The figures of one run that only the browser can measure. */
interface Measured extends Run {
  /** Milliseconds of the main thread. */
  readonly mainMs: number;
  /** Megabytes of the browser's objects, mostly layout. */
  readonly layoutMB: number;
}

const words = makeEvents(5001).map((event) => {
  const { content = "", reasoning_content: reasoning = "" } = JSON.parse(event.slice(6)).choices[0].delta;
  return (content + reasoning) as string;
});
const burst = { deltas: [...words.slice(1, -1), END], perWrite: 250, pauseMs: 0, rounds: 7 };
/** The long response: 64 characters every 125 µs. */
const long = Array.from(
  { length: 65_536 },
  (_, at) => `the quick brown fox jumps over the lazy dog, and over ${`${at}`.padStart(9, ".")}\n`,
);
const scenes: Record<string, Scene> = {
  "200 past": { ...burst, past: 200 },
  "2,000 past": { ...burst, past: 2000, rounds: 5 },
  "4 MB": { past: 20, deltas: long.with(-1, END), perWrite: 131, pauseMs: 16, rounds: 3, isTyping: true },
};
const LIMIT_MS = 30_000;
const names = [
  "a text node",
  "setState per frame",
  "Sluice",
  "Sluice, in blocks",
  "AI SDK, throttle 50",
  "AI SDK",
  "TanStack AI",
];

export async function measure(): Promise<Report> {
  const page = await openPage("pages/react.tsx", (request, response) => void respond(request, response));
  const tables: string[] = [];
  const texts: Record<string, string> = {};
  for (const [scene, { rounds, isTyping }] of Object.entries(scenes)) {
    const runs = new Map(names.map((name) => [name, [] as Measured[]]));
    const mainMs = await inTurns(
      names,
      async (name) => {
        const one = await measured(page, name, scene);
        runs.get(name)?.push(one);
        return one.mainMs;
      },
      { rounds, warmUps: isTyping ? 0 : 1, budgetMs: 20_000 },
    );
    const column = (of: (run: Measured) => number | undefined) =>
      Object.fromEntries(names.map((name) => [name, formatMedian(runs.get(name)?.map(of) ?? [])]));
    const over = (name: string) => toRatio(mainMs[name] ?? [], mainMs["a text node"] ?? []);
    tables.push(
      formatTable(scene, {
        "main thread ÷ text node": Object.fromEntries(names.map((name) => [name, over(name)])),
        "main thread, ms": Object.fromEntries(names.map((name) => [name, formatMedian(mainMs[name] ?? [])])),
        "finished, ms": column(({ finishedMs }) => finishedMs),
        commits: column(({ commits }) => commits),
        "longest task, ms": column(({ longestTaskMs }) => longestTaskMs),
        "held, MB": column(({ heldMB }) => heldMB),
        "layout, MB": column(({ layoutMB }) => layoutMB),
        ...(isTyping && {
          "key to frame, ms": Object.fromEntries(
            names.map((name) => [name, formatLatency(runs.get(name) ?? [])]),
          ),
        }),
      }),
    );
    if (scene === "200 past") for (const name of names) texts[name] = short(over(name).median);
  }
  await page.close();
  return {
    markdown: [
      "`useChatStream`, and `useChat` of the other clients, in Chromium. Each run loads a new page. Two responses are measured: 5,000 deltas below past messages, as fast as the connection allows, and 4 MB in 65,536 deltas over 8 s. `in blocks`: `createTextBlocks` splits the text. A dash means that the response was not on the page after 30 s, or that no task took 50 ms. `layout` is the memory of the browser's own objects for the page. `key to frame`: keys are pressed in a field above the messages while the 4 MB stream. It is the time from a key to the next frame, as the browser's Event Timing reports it, in steps of 8 ms.",
      ...tables,
    ].join("\n\n"),
    summary: [{ measure: "main thread for 5,000 deltas, over a plain text node, Chromium", texts }],
  };
}

function formatMedian(values: readonly (number | undefined)[]): string {
  const known = values.filter((value) => value !== undefined);
  return short(toFigure(known).median || Number.NaN);
}

/** Writes the median of the times from a key to the next frame, and the longest time. */
function formatLatency(runs: readonly Run[]): string {
  const all = runs.flatMap(({ keyMs }) => keyMs);
  return `${short(toFigure(all).median)}, at most ${short(Math.max(...all))}`;
}

async function measured({ page, run }: BenchPage, name: string, scene: string): Promise<Measured> {
  await page.reload();
  const mainThread = await openMainThread(page);
  const before = await mainThread.ms();
  const { past = 0, deltas = [], isTyping = false } = scenes[scene] ?? {};
  const length = deltas.join("").length;
  const running = run<Run>(name, past, `/${encodeURIComponent(scene)}`, length, LIMIT_MS);
  const typing = isTyping && type(page, running);
  const one = await running;
  await typing;
  const mainMs = (await mainThread.ms()) - before;
  const layoutMB = await mainThread.layoutMB();
  await mainThread.close();
  return { ...one, mainMs, layoutMB };
}

/** Presses about ten keys per second until the run ends. */
async function type({ keyboard }: BenchPage["page"], running: Promise<Run>): Promise<void> {
  let isOver = false;
  const over = running.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await keyboard.press("x");
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, 80))]);
  }
}

/** Sends the deltas of a scene in the format of the client. */
async function respond({ url = "" }: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = "", wire = ""] = url.split("/");
  const { deltas, perWrite, pauseMs } = scenes[decodeURIComponent(name)] as Scene;
  const { before, each, after } = wires[wire] ?? openAI;
  response.writeHead(200, { "content-type": "text/event-stream", "x-vercel-ai-ui-message-stream": "v1" });
  const send = (events: readonly object[]) =>
    response.write(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  send(before);
  for (let at = 0; at < deltas.length && !response.destroyed; at += perWrite) {
    const isRoom = send(deltas.slice(at, at + perWrite).map(each));
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    else if (!isRoom) await new Promise((resolve) => response.once("drain", resolve));
  }
  send(after);
  response.write("data: [DONE]\n\n");
  // when a response ends, Playwright makes the browser decode all of it, in a task of 50 ms that users don't have
  await new Promise((resolve) => setTimeout(resolve, 500));
  response.end();
}

interface Wire {
  readonly before: readonly object[];
  readonly each: (delta: string) => object;
  readonly after: readonly object[];
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-7f9a2c31",
  object: "chat.completion.chunk",
  created: 1_755_000_000,
  model: "delta-5.3",
  choices: [{ index: 0, delta, finish_reason }],
});
const openAI: Wire = {
  before: [chunk({ role: "assistant", content: "" })],
  each: (content) => chunk({ content }),
  after: [chunk({}, "stop")],
};
const run = { threadId: "1", runId: "1", timestamp: 1_755_000_000 };
const wires: Record<string, Wire> = {
  ui: {
    before: [{ type: "start" }, { type: "start-step" }, { type: "text-start", id: "1" }],
    each: (delta) => ({ type: "text-delta", id: "1", delta }),
    after: [{ type: "text-end", id: "1" }, { type: "finish-step" }, { type: "finish" }],
  },
  "ag-ui": {
    before: [
      { type: "RUN_STARTED", ...run },
      { type: "TEXT_MESSAGE_START", messageId: "1", role: "assistant" },
    ],
    each: (delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "1", delta }),
    after: [
      { type: "TEXT_MESSAGE_END", messageId: "1" },
      { type: "RUN_FINISHED", ...run },
    ],
  },
};
