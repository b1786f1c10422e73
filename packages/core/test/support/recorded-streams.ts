import type { streams } from "virtual:conformance";
import { type ChatResult, isGatewayError, streamChat } from "@sluice/core";
import { expect } from "vitest";
import {
  catchError,
  createRandom,
  createTestClient,
  question,
  splitBytes,
  streamResponse,
} from "./gateway.js";

/** A recorded stream, and the message that a client reads from it. */
export type Recorded = NonNullable<typeof streams>[number];

function readPieces(pieces: readonly Uint8Array[]): Promise<ChatResult> {
  return streamChat(createTestClient(() => streamResponse(pieces)).client, question).result();
}

function pickCompared({ message, finishReason }: Pick<ChatResult, "message" | "finishReason">) {
  return {
    content: message.content,
    reasoning: message.reasoning_content ?? null,
    finishReason,
    toolCalls: (message.tool_calls ?? []).map(({ id, function: call }) => ({ id, ...call })),
  };
}

function pickExpected({
  content,
  reasoning_content,
  reasoning,
  finish_reason,
  tool_calls,
}: Recorded["expected"]["choices"][number]) {
  return {
    content: content ?? "",
    reasoning: reasoning_content ?? reasoning,
    finishReason: finish_reason,
    toolCalls: tool_calls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text })),
  };
}

/** Expects the recorded response from a stream in the given pieces. */
export async function expectAsRecorded({ expected }: Recorded, pieces: readonly Uint8Array[]): Promise<void> {
  const [first, ...others] = expected.choices as [Recorded["expected"]["choices"][number]];
  if (expected.error_field_lines.length > 0) {
    const error = await catchError(readPieces(pieces));
    expect(error).toMatchObject({
      name: "StreamError",
      reason: "server-error",
      partial: { content: first.content },
    });
    return;
  }
  const turn = await readPieces(pieces);
  expect(pickCompared(turn)).toEqual(pickExpected(first));
  expect(turn.refusal ?? null).toBe(first.refusal);
  expect((turn.alternatives ?? []).map(pickCompared)).toEqual(others.map(pickExpected));
  expect(turn.usage ?? null).toEqual(expected.usage);
  expect(turn.outcome === "unconfirmed").toBe(first.finish_reason === null);
}

/** Finds the end of the line that completes the response: `[DONE]`, a `finish_reason` or an error. */
function findEnd(bytes: Uint8Array): number {
  let lineStart = 0;
  for (let lineEnd = 0; lineEnd <= bytes.length; lineEnd += 1) {
    if (lineEnd < bytes.length && bytes[lineEnd] !== 0x0a) continue;
    const line = new TextDecoder().decode(bytes.slice(lineStart, lineEnd)).trimEnd();
    if (completesResponse(line)) return lineStart + new TextEncoder().encode(line).length;
    lineStart = lineEnd + 1;
  }
  return bytes.length;
}

function completesResponse(line: string): boolean {
  if (!line.startsWith("data:")) return line.startsWith("error:");
  const data = line.slice(5).trim();
  if (data === "[DONE]") return true;
  const { choices } = JSON.parse(data) as { choices?: { index?: number; finish_reason?: string | null }[] };
  return !!choices?.some(({ index, finish_reason }) => !index && finish_reason);
}

/** Returns all positions before `end` if there are at most `max`; otherwise a few at random, and the first and last. */
function chooseCuts(end: number, random: () => number, max: number): number[] {
  if (end <= max) return Array.from({ length: end }, (_, position) => position);
  const inside = Array.from({ length: max / 16 }, () => Math.floor(random() * end));
  return [...inside, 0, 1, end - 1, end - 2];
}

/** Cuts a stream at up to `maxCuts` positions. Each cut has to be an error with the text before the cut. */
export async function expectTruncated(
  recorded: Recorded,
  bytes: Uint8Array,
  { maxCuts }: { readonly maxCuts: number },
): Promise<void> {
  const whole = recorded.expected.choices[0] as Recorded["expected"]["choices"][number];
  for (const cut of chooseCuts(findEnd(bytes), createRandom(7), maxCuts)) {
    const error = await catchError(readPieces(splitBytes(bytes.slice(0, cut), 512)));
    if (!isGatewayError(error) || error.name !== "StreamError") throw error;
    expect(error.reason).toBe("truncated");
    const { content } = error.partial as ChatResult["message"];
    expect((whole.content ?? "").startsWith(content)).toBe(true);
  }
}

/** Largest stream that `pnpm test` reads byte by byte. */
const SLOW_BYTES = 15_000;

/** Returns true for a stream whose reading byte by byte takes seconds. */
export function isSlow(bytes: Uint8Array): boolean {
  return bytes.length > SLOW_BYTES;
}

/** Returns true for the recordings that the tests of every platform read. The others only run in Node. */
export function isSample(index: number): boolean {
  return index % 8 === 0;
}

/** Expects the recorded response whole and in random cuts. */
export async function expectInRandomCuts(recorded: Recorded, bytes: Uint8Array): Promise<void> {
  await expectAsRecorded(recorded, [bytes]);
  const random = createRandom(bytes.length);
  for (const maxBytes of isSlow(bytes) ? [400, 4000] : [5, 40, 4000])
    await expectAsRecorded(recorded, splitBytes(bytes, 1 + Math.floor(random() * maxBytes)));
}
