import { type AssistantMessage, applyDelta, type ChatDelta } from "@sluice/core";
import { describe, expect, test } from "vitest";

const foldDeltas = (deltas: readonly ChatDelta[]) =>
  deltas.reduce<AssistantMessage | undefined>(applyDelta, undefined);

describe("applyDelta", () => {
  const deltas: ChatDelta[] = [
    { type: "reasoning-delta", text: "Hm." },
    { type: "text-delta", text: "Hel" },
    { type: "tool-call-start", index: 0, id: "a", name: "f" },
    { type: "tool-call-start", index: 1, id: "b", name: "g" },
    { type: "tool-call-delta", index: 1, arguments: "{}" },
    { type: "text-delta", text: "lo" },
  ];

  test("adds deltas to a message, and does not change earlier messages", () => {
    const steps: AssistantMessage[] = [];
    for (const delta of deltas) steps.push(applyDelta(steps.at(-1), delta));
    expect(steps.at(-1)).toEqual({
      role: "assistant",
      reasoning_content: "Hm.",
      content: "Hello",
      tool_calls: [
        { id: "a", type: "function", function: { name: "f", arguments: "" } },
        { id: "b", type: "function", function: { name: "g", arguments: "{}" } },
      ],
    });
    expect(steps[1]).toEqual({ role: "assistant", reasoning_content: "Hm.", content: "Hel" });
    expect(steps[0]).toEqual({ role: "assistant", reasoning_content: "Hm.", content: "" });
  });

  test("keeps the identity of unchanged parts", () => {
    const before = foldDeltas(deltas.slice(0, 4));
    const after = applyDelta(before, deltas[4] as ChatDelta);
    expect(after.tool_calls?.[0]).toBe(before?.tool_calls?.[0]);
    expect(applyDelta(after, { type: "text-delta", text: "x" }).tool_calls).toBe(after.tool_calls);
    expect(applyDelta(after, { type: "finish", finishReason: "stop", outcome: "complete" })).toBe(after);
  });
});
