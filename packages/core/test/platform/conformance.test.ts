import { streams } from "virtual:conformance";
import { type ChatTurn, isGatewayError, streamChat } from "@sluice/core";
import { describe, expect, test } from "vitest";
import {
  bytesOfBase64,
  clientOf,
  inPieces,
  question,
  rejectionOf,
  seeded,
  streamAnswer,
} from "../support/gateway.js";
import { slowTags } from "../support/runtime.js";

type Recorded = NonNullable<typeof streams>[number];

function answered(pieces: readonly Uint8Array[]): Promise<ChatTurn> {
  return streamChat(clientOf(() => streamAnswer(pieces)).client, question).result();
}

function essence({ message, finishReason }: Pick<ChatTurn, "message" | "finishReason">) {
  return {
    content: message.content,
    reasoning: message.reasoning_content ?? null,
    finishReason,
    toolCalls: (message.tool_calls ?? []).map(({ id, function: call }) => ({ id, ...call })),
  };
}

function expectedEssence({
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

async function expectAsRecorded({ expected }: Recorded, pieces: readonly Uint8Array[]): Promise<void> {
  const [first, ...others] = expected.choices as [Recorded["expected"]["choices"][number]];
  if (expected.error_field_lines.length > 0) {
    const error = await rejectionOf(answered(pieces));
    expect(error).toMatchObject({
      name: "StreamError",
      reason: "server-error",
      partial: { content: first.content },
    });
    return;
  }
  const turn = await answered(pieces);
  expect(essence(turn)).toEqual(expectedEssence(first));
  expect(turn.refusal ?? null).toBe(first.refusal);
  expect((turn.alternatives ?? []).map(essence)).toEqual(others.map(expectedEssence));
  expect(turn.usage ?? null).toEqual(expected.usage);
  expect(turn.outcome === "unconfirmed").toBe(first.finish_reason === null);
}

/** The first byte after which the stream has said that the answer is over. */
function endOfAnswer(bytes: Uint8Array): number {
  let lineStart = 0;
  for (let at = 0; at <= bytes.length; at += 1) {
    if (at < bytes.length && bytes[at] !== 0x0a) continue;
    const line = new TextDecoder().decode(bytes.slice(lineStart, at)).trimEnd();
    if (saysOver(line)) return lineStart + new TextEncoder().encode(line).length;
    lineStart = at + 1;
  }
  return bytes.length;
}

function saysOver(line: string): boolean {
  if (!line.startsWith("data:")) return line.startsWith("error:");
  const data = line.slice(5).trim();
  if (data === "[DONE]") return true;
  const { choices } = JSON.parse(data) as { choices?: { index?: number; finish_reason?: string | null }[] };
  return !!choices?.some(({ index, finish_reason }) => !index && finish_reason);
}

/** Places before `end` at random, and the first and last ones; each place of a short stream if `most` allows it. */
function cutsBefore(end: number, random: () => number, most: number): number[] {
  if (end <= most) return Array.from({ length: end }, (_, at) => at);
  const inside = Array.from({ length: most / 16 }, () => Math.floor(random() * end));
  return [...inside, 0, 1, end - 1, end - 2];
}

async function expectTruncated(recorded: Recorded, bytes: Uint8Array, most: number): Promise<void> {
  const whole = recorded.expected.choices[0] as Recorded["expected"]["choices"][number];
  for (const cut of cutsBefore(endOfAnswer(bytes), seeded(7), most)) {
    const error = await rejectionOf(answered(inPieces(bytes.slice(0, cut), 512)));
    if (!isGatewayError(error) || error.name !== "StreamError") throw error;
    expect(error.reason).toBe("truncated");
    const { content } = error.partial as ChatTurn["message"];
    expect((whole.content ?? "").startsWith(content)).toBe(true);
  }
}

/** Largest stream that is read byte by byte outside the long run. */
const SLOW_BYTES = 15_000;

describe.skipIf(!streams)("recorded streams (skipped where the data is absent)", () => {
  for (const [index, recorded] of (streams ?? []).entries()) {
    const bytes = bytesOfBase64(recorded.base64);
    // runtimes differ in how they read, not in what: every eighth recording elsewhere than in Node, all in the long run
    const tags = index % 8 === 0 ? [] : slowTags;
    const isSlow = bytes.length > SLOW_BYTES;

    test(`${recorded.id} gives the recorded answer whole and in random cuts`, { tags }, async () => {
      await expectAsRecorded(recorded, [bytes]);
      const random = seeded(bytes.length);
      for (const most of isSlow ? [400, 4000] : [5, 40, 4000])
        await expectAsRecorded(recorded, inPieces(bytes, 1 + Math.floor(random() * most)));
    });

    test(`${recorded.id} gives the recorded answer byte by byte`, {
      tags: isSlow ? ["long"] : tags,
    }, async () => {
      await expectAsRecorded(recorded, inPieces(bytes, 1));
    });

    test(`${recorded.id} cut before its end is truncated, and keeps what came`, { tags }, async () => {
      await expectTruncated(recorded, bytes, 16);
    });

    test(`${recorded.id} cut in many places is truncated, and keeps what came`, {
      tags: ["long"],
    }, async () => {
      await expectTruncated(recorded, bytes, 640);
    });
  }
});
