import { createClient, type ThreadMessage } from "@sluice/core";
import { GatewayProvider, useChatStream } from "@sluice/react";
import { memo, type ReactNode, useLayoutEffect, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { floor } from "./floor.ts";

/*
 * The page of the React bench: a list of past messages and a live one, fed by hand or by `useChatStream`. The rows, the
 * server and what is counted are the same for both.
 */

export interface Run {
  readonly commits: number;
  /** Frames that the browser drew meanwhile. */
  readonly frames: number;
  /** From the question to the commit that shows the whole answer. */
  readonly finishedMs: number;
  readonly longTasks: number;
}

type Message = Pick<ThreadMessage, "id" | "role" | "content" | "reasoning">;
type Chunk = { choices: { delta: { content?: string; reasoning_content?: string } }[] };

const past: ThreadMessage[] = Array.from({ length: 200 }, (_, at) => ({
  id: `past ${at}`,
  role: at % 2 ? "assistant" : "user",
  content: `message ${at}: the quick brown fox jumps over the lazy dog`,
}));
const address = "/v1/chat/completions";

let commits = 0;
let onCommit = () => {};
let send: () => Promise<unknown>;

const Row = memo(function Row({ message }: { message: Message }) {
  return (
    <li>
      {message.reasoning && <small>{message.reasoning}</small>}
      <p>{message.content}</p>
    </li>
  );
});

function List({ messages }: { messages: readonly Message[] }) {
  useLayoutEffect(() => {
    commits += 1;
    onCommit();
  });
  return (
    <ol>
      {messages.map((message) => (
        <Row key={message.id} message={message} />
      ))}
    </ol>
  );
}

function ByHand() {
  const [messages, setMessages] = useState<readonly Message[]>(past);
  useLayoutEffect(() => {
    send = () => askByHand(setMessages);
  }, []);
  return <List messages={messages} />;
}

/** What somebody writes who knows the gateway well: text gathered in variables, at most one `setState` per frame. */
async function askByHand(setMessages: (messages: readonly Message[]) => void): Promise<void> {
  let content = "";
  let reasoning = "";
  let scheduled = 0;
  const asked: Message[] = [...past, { id: "question", role: "user", content: "Hello?" }];
  const show = () => {
    scheduled = 0;
    setMessages([...asked, { id: "answer", role: "assistant", content, reasoning }]);
  };
  show();
  await floor(await fetch(address, { method: "POST" }), (chunk) => {
    const { delta } = (chunk as Chunk).choices[0] as Chunk["choices"][number];
    content += delta.content ?? "";
    reasoning += delta.reasoning_content ?? "";
    scheduled ||= requestAnimationFrame(show);
  });
  cancelAnimationFrame(scheduled);
  show();
}

function Ours() {
  const chat = useChatStream({ model: "delta-5.3", initialMessages: past });
  useLayoutEffect(() => {
    send = () => chat.send("Hello?");
  }, [chat.send]);
  return <List messages={chat.messages as readonly Message[]} />;
}

const subjects = {
  byHand: () => <ByHand />,
  ours: () => (
    <GatewayProvider client={createClient({ baseURL: location.origin })}>
      <Ours />
    </GatewayProvider>
  ),
} satisfies Record<string, () => ReactNode>;

/** Asks once, in a new list, for an answer of so many characters. */
async function run(subject: keyof typeof subjects, length: number): Promise<Run> {
  const container = document.body.appendChild(document.createElement("main"));
  const root = createRoot(container);
  flushSync(() => root.render(subjects[subject]()));
  await frame();
  await frame();
  const counted = count();
  commits = 0;
  const startedAt = performance.now();
  const finished = new Promise<number>((resolve) => {
    onCommit = () => {
      if (shownLength(container) === length) resolve(performance.now() - startedAt);
    };
  });
  await send();
  const finishedMs = await finished;
  const result = { commits, finishedMs, ...(await counted()) };
  root.unmount();
  container.remove();
  return result;
}

function shownLength(container: HTMLElement): number {
  return container.querySelector("li:last-child")?.textContent?.length ?? 0;
}

function count(): () => Promise<Pick<Run, "frames" | "longTasks">> {
  let frames = 0;
  let longTasks = 0;
  let ticking = requestAnimationFrame(tick);
  const observer = new PerformanceObserver((list) => {
    longTasks += list.getEntries().length;
  });
  observer.observe({ type: "longtask" });
  return async () => {
    cancelAnimationFrame(ticking);
    const seen = frames;
    await frame();
    await frame();
    observer.disconnect();
    return { frames: seen, longTasks };
  };

  function tick() {
    frames += 1;
    ticking = requestAnimationFrame(tick);
  }
}

function frame(): Promise<number> {
  return new Promise(requestAnimationFrame);
}

Object.assign(window, { run });
