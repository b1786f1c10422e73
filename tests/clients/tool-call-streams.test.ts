import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createClient, streamChat } from "@sluice/core";
import { expect, test } from "vitest";
import { DONE, frame, streamResponse } from "../../packages/core/test/support/gateway.js";
import { type CallStream, createCallStreams } from "../../packages/core/test/support/tool-call-streams.js";

/** Every so many streams are read: all of them take minutes. */
const STEP = 7;

let text = "";
const model = createOpenAICompatible({
  name: "gateway",
  baseURL: "https://gateway.test/v1",
  fetch: async () => streamResponse(text),
}).chatModel("delta-5.3");
const client = createClient({
  baseURL: "https://gateway.test",
  fetch: async () => streamResponse(text),
  onEvent: () => {},
});

/** Calls that would run: none where one has broken arguments. Undefined for an error. */
async function readByAISDK(): Promise<string | undefined> {
  const calls: { name: string; arguments: string }[] = [];
  try {
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Go" }] }];
    const { stream } = await model.doStream({ prompt });
    for await (const part of stream) {
      if (part.type === "error") return undefined;
      if (part.type === "tool-call") calls.push({ name: part.toolName, arguments: part.input });
    }
  } catch {
    return undefined;
  }
  return running(calls);
}

async function readBySluice(): Promise<string | undefined> {
  const messages = [{ role: "user" as const, content: "Go" }];
  const turn = await streamChat(client, { model: "delta-5.3", messages })
    .result()
    .catch(() => undefined);
  return turn && running(turn.toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })));
}

function running(calls: readonly { name: string; arguments: string }[]): string {
  return JSON.stringify(calls.every(({ arguments: given }) => isWhole(given)) ? calls : []);
}

function isWhole(given: string): boolean {
  try {
    return given === "" || JSON.parse(given) !== undefined;
  } catch {
    return false;
  }
}

function isRight(read: string | undefined, { meanings }: CallStream): boolean {
  const named = meanings.map((calls) => calls.filter((call) => call.name || call.arguments));
  return named.some((calls) => JSON.stringify(calls) === read);
}

test("Sluice runs no wrong call in a stream of any fields, and the AI SDK reads none right that Sluice reads wrong", async () => {
  const streams = createCallStreams(["0", "1", "00", "01", "10", "12"]).filter((_, nth) => nth % STEP === 0);
  const wrong = { sluice: 0, aiSDK: 0 };
  for (const stream of streams.filter(({ isUnambiguous }) => isUnambiguous)) {
    text = stream.chunks.map((tool_calls) => frame({ tool_calls })).join("") + frame({}, "tool_calls") + DONE;
    const [ours, theirs] = [await readBySluice(), await readByAISDK()];
    if (ours && ours !== "[]" && !isRight(ours, stream)) wrong.sluice += 1;
    if (theirs && theirs !== "[]" && !isRight(theirs, stream)) wrong.aiSDK += 1;
    // if the AI SDK reads a stream rightly, Sluice runs the same calls or none
    if (isRight(theirs, stream) && ours && ours !== "[]") expect(ours).toBe(theirs);
    if (stream.isReadable) expect(isRight(ours, stream)).toBe(true);
  }
  expect(wrong.sluice).toBe(0);
  expect(wrong.aiSDK).toBeGreaterThan(0);
});
