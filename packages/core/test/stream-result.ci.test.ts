import { streamChat } from "@sluice/core";
import { expect, test } from "vitest";
import { createTestClient, DONE, frame, question, streamResponse } from "./support/gateway.js";

test("100,000 deltas wait for a paused loop and arrive in order", async () => {
  const count = 100_000;
  const frames = Array.from({ length: count }, (_, nth) => frame({ content: `${nth};` }));
  const { client } = createTestClient(() => streamResponse(frames.join("") + frame({}, "stop") + DONE));
  const stream = streamChat(client, question);
  let next = 0;
  for await (const delta of stream) {
    if (next === 0) await stream.result();
    if (delta.type === "text-delta") expect(delta.text === `${next++};`).toBe(true);
  }
  expect(next).toBe(count);
});
