import { createClient } from "@sluice/core";
import { type ChatMessage, GatewayProvider, useChatStream } from "@sluice/react";
import { useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { floor } from "../floor.ts";
import { peers } from "../peers/react.jsx";
import { END } from "../workload.ts";
import { List, list, type Message, pastTexts, type Split, type Subject } from "./list.tsx";
import { createTextBlocks } from "./text-blocks.ts";

/*
 * A list of past messages and a live one, shown by each subject. Rows, deltas and counts are the same for all.
 */

/** One run, measured in the page. */
export interface Run {
  /** Milliseconds from the question to the commit with the whole response; undefined where it took too long. */
  readonly finishedMs: number | undefined;
  readonly commits: number;
  readonly longestTaskMs: number;
  /** Megabytes in use after the response beyond those before it, after collecting garbage. */
  readonly heldMB: number;
  /** Milliseconds from each key to the next frame, by the Event Timing API: in steps of 8, and 8 for all below 16. */
  readonly keyMs: readonly number[];
}

interface Text extends Message {
  readonly text: string;
}

const createHistory = (count: number): Text[] =>
  pastTexts(count).map((text, at) => ({ id: `past ${at}`, text }));
const question: Text = { id: "question", text: "Hello?" };

/** Reads a response by the floor, and calls `show` with its text in each frame that has more. */
async function read(address: string, show: (text: string) => void): Promise<void> {
  let text = "";
  let scheduled = 0;
  const body = JSON.stringify({ stream: true });
  await floor(await fetch(`${address}/v1/chat/completions`, { method: "POST", body }), (chunk) => {
    const [choice] = (chunk as { choices: { delta: { content?: string } }[] }).choices;
    text += choice?.delta.content ?? "";
    scheduled ||= requestAnimationFrame(() => {
      scheduled = 0;
      show(text);
    });
  });
  cancelAnimationFrame(scheduled);
  show(text);
}

/** No React: one text node, to which each frame adds. */
function TextNode({ past, address }: { past: number; address: string }) {
  const paragraph = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    const node = paragraph.current?.appendChild(new Text(""));
    list.send = () =>
      read(address, (text) => {
        node?.appendData(text.slice(node.length));
        list.onCommit();
      });
  }, [address]);
  const messages = useRef(createHistory(past)).current;
  return (
    <>
      <List messages={messages} readText={({ text }) => text} />
      <ol>
        <li>
          <p ref={paragraph} />
        </li>
      </ol>
    </>
  );
}

/** One `setState` per frame. */
function ByHand({ past, address }: { past: number; address: string }) {
  const [messages, setMessages] = useState(() => createHistory(past));
  useLayoutEffect(() => {
    const before = [...createHistory(past), question];
    list.send = () => read(address, (text) => setMessages([...before, { id: "reply", text }]));
  }, [past, address]);
  return <List messages={messages} readText={({ text }) => text} />;
}

function Sluice({ past, split }: { past: number; split?: Split }) {
  const [initialMessages] = useState(() =>
    pastTexts(past).map(
      (content, at): ChatMessage => ({ id: `past ${at}`, role: at % 2 ? "assistant" : "user", content }),
    ),
  );
  const chat = useChatStream({ model: "delta-5.3", initialMessages });
  useLayoutEffect(() => {
    list.send = () => chat.send(question.text);
  }, [chat.send]);
  return <List messages={chat.messages} readText={({ content }) => String(content)} split={split} />;
}

/** The input for the next message. */
function Field() {
  const [text, setText] = useState("");
  return <input value={text} onChange={({ target }) => setText(target.value)} />;
}

const subjects: Record<string, Subject> = {
  "a text node": (past, address) => <TextNode past={past} address={address} />,
  "setState per frame": (past, address) => <ByHand past={past} address={address} />,
  Sluice: (past, address) => (
    <GatewayProvider client={createClient({ baseURL: address })}>
      <Sluice past={past} />
    </GatewayProvider>
  ),
  "Sluice, in blocks": (past, address) => (
    <GatewayProvider client={createClient({ baseURL: address })}>
      <Sluice past={past} split={createTextBlocks} />
    </GatewayProvider>
  ),
  ...peers,
};

/** Asks once for a response of `length` characters, in a page just loaded. */
async function run(
  name: string,
  past: number,
  address: string,
  length: number,
  limitMs: number,
): Promise<Run> {
  const container = document.body.appendChild(document.createElement("main"));
  const shown = subjects[name]?.(past, location.origin + address);
  flushSync(() =>
    createRoot(container).render(
      <>
        <Field />
        {shown}
      </>,
    ),
  );
  container.querySelector("input")?.focus();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before = await heldMB();
  let longestTaskMs = 0;
  const observer = new PerformanceObserver((entries) => {
    for (const { duration } of entries.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration);
  });
  observer.observe({ type: "longtask" });
  const keys = watchKeys();
  list.commits = 0;
  const startedAt = performance.now();
  const finishedMs = await new Promise<number | undefined>((resolve) => {
    setTimeout(resolve, limitMs);
    list.onCommit = () => {
      if (endsWithEnd(container)) resolve(performance.now() - startedAt);
    };
    list.send();
  });
  const { commits } = list;
  await new Promise((resolve) => setTimeout(resolve, 100));
  observer.disconnect();
  const keyMs = keys.stop();
  // the connection ends meanwhile
  await new Promise((resolve) => setTimeout(resolve, 1000));
  // not the text itself: this function would hold it while the memory is counted
  const shownLength = (container.querySelector(LAST_MESSAGE) as Element).textContent.length;
  if (finishedMs && shownLength !== length)
    throw new Error(`${name} shows ${shownLength} of ${length} characters`);
  return { finishedMs, commits, longestTaskMs, keyMs, heldMB: (await heldMB()) - before };
}

const LAST_MESSAGE = "ol:last-of-type > li:last-child";

/** Looks for the end of the response. It reads a few characters: reading all would cost more than a commit. */
function endsWithEnd(container: Element): boolean {
  let node: Node | null | undefined = container.querySelector(LAST_MESSAGE);
  while (node?.lastChild) node = node.lastChild;
  return (
    node instanceof Text && node.substringData(Math.max(0, node.length - END.length), END.length) === END
  );
}

/** Observes the keys that are pressed from now on. */
function watchKeys() {
  const keysSoFar = () => performance.eventCounts.get("keydown") ?? 0;
  const before = keysSoFar();
  const since = performance.now();
  const slow: number[] = [];
  const note = (entries: readonly PerformanceEntry[]) => {
    for (const { name, startTime, duration } of entries)
      if (name === "keydown" && startTime >= since) slow.push(duration);
  };
  const observer = new PerformanceObserver((entries) => note(entries.getEntries()));
  // the shortest time that a browser tells
  observer.observe({ type: "event", durationThreshold: 16 } as PerformanceObserverInit);
  return {
    /** Stops, and returns the times. */
    stop() {
      note(observer.takeRecords());
      observer.disconnect();
      return [...slow, ...new Array<number>(Math.max(0, keysSoFar() - before - slow.length)).fill(8)];
    },
  };
}

declare const performance: Performance & { readonly memory: { readonly usedJSHeapSize: number } };
declare const gc: (options: { readonly type: "major"; readonly execution: "async" }) => Promise<void>;

async function heldMB(): Promise<number> {
  // the first run may only finish a collection in progress; separate tasks leave no references on the stack
  for (let time = 0; time < 2; time += 1) await gc({ type: "major", execution: "async" });
  return performance.memory.usedJSHeapSize / 2 ** 20;
}

Object.assign(window, { run });
