import { GatewayProvider, type UseChatStreamResult, useChatStream } from "@sluice/react";
import type { ChatMessage } from "@sluice/stores";
import { memo, startTransition, useLayoutEffect, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { beforeEach, describe, expect, test } from "vitest";
import {
  createTestClient,
  DONE,
  frame,
  openBody,
  splitBytes,
  streamResponse,
} from "../../core/test/support/gateway.js";

/*
 * Bursts in a real browser, in React's own time: no act() and no testing library. What is asserted is how often and
 * in which order, which is the same on a slow machine.
 */

const past: readonly ChatMessage[] = Array.from({ length: 200 }, (_, at) => ({
  id: `past ${at}`,
  role: at % 2 ? "assistant" : "user",
  content: `message ${at}`,
}));
const deltaTexts = Array.from({ length: 5000 }, (_, at) => `word ${at} `);
const deltas = deltaTexts.map((content) => frame({ content }));
const END = frame({}, "stop") + DONE;
const encoder = new TextEncoder();

/** Log of the page, in order: "frame", "commit streaming", "row past 7", "view settings". */
const log: string[] = [];
const latest = () => chat.messages.at(-1)?.content;
const count = (what: string) => log.filter((entry) => entry.startsWith(what)).length;

let visits = 0;
let root: Root;
let chat: UseChatStreamResult;
let show: (view: View) => void;

const Row = memo(function Row({ message }: { message: ChatMessage }) {
  log.push(`row ${message.id}`);
  // its end only: how long the browser takes to lay out a long text is not ours to measure
  return <li>{message.content.slice(-200)}</li>;
});

function Chat() {
  const own = useChatStream({ id: "a", model: "delta-5.3", initialMessages: past });
  useLayoutEffect(() => {
    chat = own;
    log.push(`commit ${own.status}`);
  });
  return (
    <ol>
      {own.messages.map((message) => (
        <Row key={message.id} message={message} />
      ))}
    </ol>
  );
}

type View = "chat" | "about" | "settings";

function App() {
  const [view, setView] = useState<View>("chat");
  useLayoutEffect(() => {
    show = setView;
    log.push(`view ${view}`);
  }, [view]);
  if (view === "chat") return <Chat />;
  return view === "about" ? <p>about</p> : past.map(({ id }) => <Setting key={id} />);
}

/** A slow component: React needs longer for 200 settings than the chat waits between two snapshots. */
function Setting() {
  work(1);
  return <p>setting</p>;
}

function work(ms: number): void {
  const startedAt = performance.now();
  while (performance.now() - startedAt < ms);
}

beforeEach(() => {
  const container = document.body.appendChild(document.createElement("div"));
  root = createRoot(container);
  let ticking = requestAnimationFrame(tick);
  function tick() {
    log.push("frame");
    ticking = requestAnimationFrame(tick);
  }
  return () => {
    cancelAnimationFrame(ticking);
    root.unmount();
    container.remove();
  };
});

/** Shows the app on a gateway that gives this body, and forgets what happened until it stood. */
async function open(body: Uint8Array[] | ReadableStream<Uint8Array>): Promise<Request[]> {
  const { client, requests } = createTestClient(() => streamResponse(body));
  visits += 1;
  log.length = 0;
  root.render(
    <GatewayProvider key={visits} client={client}>
      <App />
    </GatewayProvider>,
  );
  await waitUntil(() => count("view chat") > 0);
  await waitForFrames(2);
  log.length = 0;
  return requests;
}

async function waitUntil(it: () => boolean): Promise<void> {
  while (!it()) await waitForFrames(1);
}

async function waitForFrames(wanted: number): Promise<void> {
  for (let seen = 0; seen < wanted; seen += 1) await new Promise(requestAnimationFrame);
}

function streamFrames(reads: number): ReadableStream<Uint8Array> {
  const size = Math.ceil(deltas.length / reads);
  const pieces = Array.from({ length: reads }, (_, at) => deltas.slice(at * size, (at + 1) * size).join(""));
  return createBody((nth) => pieces[nth], { apart: true });
}

/** Creates a body that ends once `isEnough`, or after `reads` reads, which take seconds. */
function streamUntil(isEnough: () => boolean, { reads, apart }: { reads: number; apart: boolean }) {
  const read = frame({ content: "." }).repeat(20);
  return createBody((nth) => (nth < reads && !isEnough() ? read : undefined), { apart });
}

/** Creates a body whose next read resolves at once or, with `apart`, in the browser's next frame. */
function createBody(readAt: (nth: number) => string | undefined, { apart }: { apart: boolean }) {
  let nth = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (apart) await waitForFrames(1);
      const read = readAt(nth);
      nth += 1;
      if (read !== undefined) return controller.enqueue(encoder.encode(read));
      log.push("end of the body");
      controller.enqueue(encoder.encode(END));
      controller.close();
    },
  });
}

describe("a burst of 5,000 deltas below 200 messages", () => {
  test.each([
    ["in four reads", () => splitBytes(deltas.join("") + END, 262_144)],
    ["in 25 frames", () => streamFrames(25)],
  ])("%s commits at most once in a frame, and renders only the live row", async (_, body) => {
    await open(body());
    const reply = await chat.send("Hello?");
    await waitForFrames(2);
    // the question and the end are notified at once; n frames part the time between them into n + 1
    expect(count("commit streaming")).toBeLessThanOrEqual(count("frame") + 1);
    expect([count("commit submitted"), count("commit ready"), count("row past")]).toEqual([1, 1, 0]);
    expect(chat.messages).toHaveLength(202);
    expect([reply?.outcome, latest()]).toEqual(["complete", deltaTexts.join("")]);
  });

  test("shows growing text if it takes longer", async () => {
    await open(streamFrames(25));
    await chat.send("Hello?");
    expect(count("commit streaming")).toBeGreaterThan(1);
  });
});

describe("while a response streams", () => {
  test("shows another view, rendered in a transition, before the response ends", async () => {
    await open(streamUntil(() => count("view about") > 0, { reads: 2000, apart: true }));
    const turn = chat.send("Hello?");
    startTransition(() => show("about"));
    await turn;
    expect(log.indexOf("view about")).toBeGreaterThan(-1);
    expect(log.indexOf("view about")).toBeLessThan(log.indexOf("end of the body"));
  });

  test("shows a view that takes long to render during a response", async () => {
    await open(streamUntil(() => count("view settings") > 0, { reads: 2000, apart: true }));
    const turn = chat.send("Hello?");
    startTransition(() => show("settings"));
    await turn;
    expect(log.indexOf("view settings")).toBeGreaterThan(-1);
    expect(log.indexOf("view settings")).toBeLessThan(log.indexOf("end of the body"));
  });

  test("a burst lets the page commit and paint before its end", async () => {
    const hasPainted = () =>
      count("commit streaming") > 2 && log.slice(log.indexOf("commit streaming")).includes("frame");
    await open(streamUntil(hasPainted, { reads: 3000, apart: false }));
    await chat.send("Hello?");
    const during = log.slice(0, log.indexOf("end of the body"));
    expect(during).toContain("commit streaming");
    expect(during.slice(during.indexOf("commit streaming"))).toContain("frame");
  });

  test("a chat that is unmounted and mounted again shows the same stream, requested once", async () => {
    const connection = openBody();
    const requests = await open(connection.body);
    const turn = chat.send("Hello?");
    await connection.wanted();
    connection.send(frame({ content: "Hel" }));
    await waitUntil(() => latest() === "Hel");
    show("about");
    await waitUntil(() => count("view about") > 0);
    await connection.wanted();
    connection.send(frame({ content: "lo" }));
    show("chat");
    await waitUntil(() => count("view chat") > 0 && latest() === "Hello");
    connection.send(frame({ content: "!" }) + END);
    await turn;
    await waitUntil(() => latest() === "Hello!");
    expect([chat.messages.length, latest(), requests.length]).toEqual([202, "Hello!", 1]);
  });
});
