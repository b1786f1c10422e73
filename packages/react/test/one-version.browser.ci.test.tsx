import { GatewayProvider, useChatMessage, useChatStream } from "@sluice/react";
import { startTransition, useLayoutEffect, useMemo, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { beforeEach, describe, expect, test } from "vitest";
import { createTestClient, DONE, frame, streamResponse } from "../../core/test/support/gateway.js";

/*
 * Twelve components of one chat in a transition that takes React ten frames, while a response streams: in React's own
 * time, without act(). After each commit, all of them show one version of the response.
 */

const ROWS = Array.from({ length: 12 }, (_, at) => at);
const ROW_MS = 15;
const encoder = new TextEncoder();

/** Length of the response that each row shows now. */
const shown = new Map<number, number>();
/** Lengths of the commits that showed several versions. */
const torn: string[] = [];
let commits = 0;
let isChecking = false;
let chat: ReturnType<typeof useChatStream>;
let go: (round: number) => void;
let committedRound = 0;
let root: Root;

function work(ms: number): void {
  const startedAt = performance.now();
  while (performance.now() - startedAt < ms);
}

/** Looks at what stands on the page when a commit is over. */
function check(): void {
  isChecking = false;
  commits += 1;
  const lengths = [...shown.values()];
  if (new Set(lengths).size > 1) torn.push(lengths.join(" "));
}

function useProbe(row: number, length: number): void {
  useLayoutEffect(() => {
    shown.set(row, length);
    if (!isChecking) queueMicrotask(check);
    isChecking = true;
    return () => void shown.delete(row);
  });
}

const options = { id: "a", model: "delta-5.3" } as const;

/** A row that shows the whole chat. */
function ChatRow({ row, round }: { row: number; round: number }) {
  useMemo(() => work(ROW_MS + 0 * round), [round]);
  const { messages } = useChatStream(options);
  const length = messages.at(-1)?.content.length ?? 0;
  useProbe(row, length);
  return <p>{length}</p>;
}

/** A row that shows the response alone. */
function MessageRow({ row, round, messageId }: { row: number; round: number; messageId: string }) {
  useMemo(() => work(ROW_MS + 0 * round), [round]);
  const length = useChatMessage("a", messageId)?.content.length ?? 0;
  useProbe(row, length);
  return <p>{length}</p>;
}

function Owner() {
  chat = useChatStream(options);
  useProbe(-1, chat.messages.at(-1)?.content.length ?? 0);
  return null;
}

const Badge = () => <output>{useChatMessage("a", "none")?.content}</output>;

type Scene = "rows stay" | "rows come beside the chat" | "rows come beside a badge" | "rows come alone";

function App({ scene }: { scene: Scene }) {
  const [round, setRound] = useState(0);
  useLayoutEffect(() => {
    go = setRound;
    committedRound = round;
  });
  const hasOwner = scene === "rows stay" || scene === "rows come beside the chat" || round === 0;
  const hasRows = scene === "rows stay" || round % 2 === 1;
  const messageId = chat?.messages.at(-1)?.id ?? "";
  return (
    <>
      {hasOwner && <Owner />}
      {(hasOwner || scene === "rows come beside a badge") && <Badge />}
      {hasRows &&
        ROWS.map((row) =>
          row % 2 && messageId ? (
            <MessageRow key={row} row={row} round={round} messageId={messageId} />
          ) : (
            <ChatRow key={row} row={row} round={round} />
          ),
        )}
    </>
  );
}

beforeEach(() => {
  const container = document.body.appendChild(document.createElement("div"));
  root = createRoot(container);
  shown.clear();
  torn.length = 0;
  commits = committedRound = 0;
  return () => {
    root.unmount();
    container.remove();
  };
});

const aFrame = () => new Promise(requestAnimationFrame);

async function waitUntil(it: () => boolean): Promise<void> {
  while (!it()) await aFrame();
}

/** A response that grows in each frame until `isEnough`. */
function createGrowingStream(isEnough: () => boolean) {
  let reads = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      await aFrame();
      reads += 1;
      if (reads < 3000 && !isEnough()) return controller.enqueue(encoder.encode(frame({ content: "." })));
      controller.enqueue(encoder.encode(frame({}, "stop") + DONE));
      controller.close();
    },
  });
}

describe("twelve components of a chat in a transition", () => {
  const scenes: readonly Scene[] = [
    "rows stay",
    "rows come beside the chat",
    "rows come beside a badge",
    "rows come alone",
  ];
  test.each(scenes)("Every commit of a transition shows one version of the response: %s", async (scene) => {
    let isOver = false;
    const { client } = createTestClient(() => streamResponse(createGrowingStream(() => isOver)));
    root.render(
      <GatewayProvider client={client}>
        <App scene={scene} />
      </GatewayProvider>,
    );
    await waitUntil(() => chat !== undefined && shown.has(-1));
    const turn = chat.send("Hello?");
    await waitUntil(() => (shown.get(-1) ?? 0) > 0 && chat.status === "streaming");
    for (let round = 1; round <= 6; round += 1) {
      startTransition(() => go(round));
      // the response still grows: if each piece restarted the transition, it would never end
      await waitUntil(() => committedRound === round);
    }
    isOver = true;
    await turn;
    await aFrame();
    expect(commits).toBeGreaterThan(5);
    expect(torn).toEqual([]);
  });
});
