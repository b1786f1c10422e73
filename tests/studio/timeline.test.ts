import { expect, test } from "vitest";
import type { Call, RecordedStep } from "../../examples/studio/src/inspector/feed.ts";
import { timelineOf } from "../../examples/studio/src/inspector/timeline.ts";

const path = "/v1/chat/completions";
const error = new Error("refused");

/** A call of these steps, each with the time since the first. */
function callOf(...steps: readonly (readonly [at: number, step: object])[]): Call {
  const identity = { callId: "1", kind: "chat", path };
  const recorded = steps.map(([at, step]) => ({ ...identity, ...step, at: 1000 + at }) as RecordedStep);
  return { ...identity, kind: "chat", requests: [], warnings: [], steps: recorded };
}

const rowsOf = (call: Call, now: number) =>
  timelineOf(call, 1000 + now).map(({ label, from, to, note }) => [label, from, to, note]);

test("a refused attempt shows its wait counting down, and then the next attempt and the stream", () => {
  const call = callOf(
    [0, { type: "request", attempt: 1 }],
    [40, { type: "response", attempt: 1, status: 429, durationMs: 40 }],
    [40, { type: "retry", attempt: 1, delayMs: 1000, error }],
  );
  expect(rowsOf(call, 540)).toEqual([["Attempt 1", 0, 40, "again in 500 ms"]]);
  const answered = callOf(
    ...call.steps.map((step) => [step.at - 1000, step] as const),
    [1040, { type: "request", attempt: 2 }],
    [1100, { type: "response", attempt: 2, status: 200, durationMs: 60 }],
    [1400, { type: "first-chunk", durationMs: 1400 }],
    [
      3400,
      {
        type: "end",
        outcome: "complete",
        durationMs: 3400,
        timing: { totalMs: 3400, tokensPerSecond: 57.6 },
      },
    ],
  );
  expect(rowsOf(answered, 9000)).toEqual([
    ["Attempt 1", 0, 40, "429"],
    ["Attempt 2", 1040, 1100, "200"],
    ["Stream", 1400, 3400, "58 tokens/s"],
  ]);
});

test("an answer that was cut is resumed, and the attempts without a network are one row", () => {
  const kept = { path: "/v1/chat/streams/1" };
  const call = callOf(
    [0, { type: "request", attempt: 1 }],
    [50, { type: "response", attempt: 1, status: 200, durationMs: 50 }],
    [90, { type: "first-chunk", durationMs: 90 }],
    [500, { type: "request", attempt: 1, ...kept }],
    [501, { type: "retry", attempt: 1, delayMs: 300, error, ...kept }],
    [801, { type: "request", attempt: 2, ...kept }],
    [1900, { type: "request", attempt: 1, ...kept }],
    [1950, { type: "response", attempt: 1, status: 200, durationMs: 50, ...kept }],
  );
  expect(rowsOf(call, 2500)).toEqual([
    ["Attempt 1", 0, 50, "200"],
    ["Stream", 90, 500, ""],
    ["Resume", 500, 1900, "no answer"],
    ["Resume", 1900, 1950, "200"],
    ["Stream", 1950, 2500, ""],
  ]);
});
