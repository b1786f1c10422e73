// @vitest-environment node
import { join } from "node:path";
import { completeChat, createClient, streamChat } from "@sluice/core";
import { createRecorder, createReplay, readRecordings, writeRecording } from "@sluice/emulator/recordings";
import { afterAll, expect, test } from "vitest";

/*
 * Recorded responses, without a network and without a key. To record them again, delete `recordings/`, and run
 * RECORD=https://gateway.example.com GATEWAY_API_KEY=sk-… npx vitest run recorded
 */

const folder = join(import.meta.dirname, "recordings");
const { RECORD, GATEWAY_API_KEY = "sk-replay" } = process.env;
const replay = RECORD
  ? undefined
  : createReplay({ recordings: readRecordings(folder), speed: Number.POSITIVE_INFINITY });
const recorder = RECORD
  ? createRecorder({ gateway: RECORD, save: (recording) => writeRecording(folder, recording) })
  : undefined;
const client = createClient({
  baseURL: RECORD ?? "https://gateway.example.com",
  apiKey: GATEWAY_API_KEY,
  fetch: (recorder ?? replay)?.fetch,
  retry: { limit: 0 },
});

afterAll(() => {
  // a changed request matches no recording, and its old recording is unused
  expect(replay?.misses ?? []).toEqual([]);
  expect(replay?.unused() ?? []).toEqual([]);
});

test("a recorded response has its text and its tokens", async () => {
  const { message, usage } = await completeChat(client, {
    model: "delta-5.3",
    messages: [{ role: "user", content: "How deep is the Elbe?" }],
  });
  expect(message.content).toContain("Elbe");
  expect(usage?.total_tokens).toBeGreaterThan(0);
});

test("a recorded stream ends at its limit, as it did at the gateway", async () => {
  const stream = await streamChat(client, {
    model: "delta-5.3",
    messages: [{ role: "user", content: "Where does the Elbe rise?" }],
    max_tokens: 12,
  });
  const { outcome, finishReason } = await stream.result();
  expect([outcome, finishReason]).toEqual(["length", "length"]);
});
