import { isDeepStrictEqual } from "node:util";
import { createClient, isGatewayError, streamChat } from "@sluice/core";
import fc from "fast-check";
import { beforeAll, expect, test, vi } from "vitest";
import { question } from "../../packages/core/test/support/gateway.js";
import { readRuns } from "../support/seed.js";

/*
 * The client does not parse a frame as a whole if only one text differs from an earlier frame. It must read the frame as
 * `JSON.parse` would. Spaces after the JSON make successive frames differ, so that each frame is parsed.
 */

const toChunk = (delta: string, rest = "") =>
  `{"id":"c","created":1,"choices":[{"index":0,"delta":{${delta}},"finish_reason":null}]${rest}}`;
/** Frames around a text, with `@` as its placeholder. */
const envelopes = [
  toChunk('"content":"@"'),
  toChunk('"content":"@"', ',"usage":null'),
  toChunk('"role":"assistant","content":"@","reasoning_content":null'),
  toChunk('"reasoning_content":"@"'),
  toChunk('"reasoning":"@","content":""'),
  toChunk('"content":"@","reasoning":"the same"'),
  toChunk('"content":"first","content":"@"'),
  toChunk('"content":"@","content":"last"'),
  toChunk('"content":"@","tool_calls":[]'),
  toChunk('"content":"@","refusal":"@"'),
  toChunk('"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"@"}}]'),
  toChunk('"tool_calls":[{"id":"a","function":{"name":"f","arguments":"@"}}]'),
  toChunk('"tool_calls":[{"index":0,"id":"@","function":{"name":"f","arguments":"{}"}}]'),
  toChunk('"content":[{"type":"text","text":"@"}]'),
  toChunk('"@":"content"'),
  toChunk('"reasoning":"\\u2063mark\\u2063","content":"@"'),
  toChunk('"content":"@","__proto__":"x"'),
  toChunk('"__proto__":{"content":"@"}'),
  toChunk('"content":"x"', ',"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"note":"@"}'),
  toChunk('"content":"@"', ',"error":null'),
  toChunk('"content":"@"', ',"big":-0,"small":1e400'),
  '{"choices":[{"index":1,"delta":{"content":"@"}}]}',
  '{"choices":[{"delta":{"content":"@"}},{"index":1,"delta":{"content":"other"}}]}',
  '{"choices":[{"delta":{"content":"x"},"finish_reason":"@"}]}',
  '{"choices":[{"message":{"content":"@"}}]}',
  '{"error":{"message":"@"}}',
  '{"id":"@","choices":[]}',
  '"@"',
  "[@]",
];
/** Placeholder for a text of one quote. */
const CUT = "<cut>";
/** Any text, with lone surrogates. `fc.string({ unit: "binary" })` would first build a map of all characters for seconds. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 12 })
  .map((codes) => String.fromCodePoint(...codes));
/** Bodies of a JSON string, right and wrong. */
const body = fc.oneof(
  anyText.map((text) => JSON.stringify(text).slice(1, -1)),
  fc.string({ unit: "grapheme-ascii", maxLength: 12 }),
  fc.constantFrom(
    ...["", "a", "content", "\\", "\\\\", '\\"', '"', '","content":"', '"},"x":{"y":"', "\\u4f60", "\\ud83d"],
    ...[
      CUT,
      "\\u00",
      "\\x",
      "\t",
      "\u2028",
      "\u2063mark\u2063",
      "[DONE]",
      "😀",
      '\\"content\\":\\"',
      "assistant",
    ],
  ),
);
const run = fc
  .tuple(fc.constantFrom(...envelopes), fc.array(body, { minLength: 1, maxLength: 30, size: "max" }))
  .map(([envelope, bodies]) =>
    bodies.map((each) =>
      each === CUT ? envelope.replaceAll('"@"', '"') : envelope.replaceAll("@", () => each),
    ),
  );
/** A stream parses its first frames, and compares later frames. */
const firstFrames = Array.from({ length: 20 }, (_, at) => toChunk(`"content":" ${at}"`));
const frames = fc.array(run, { minLength: 1, maxLength: 6 }).map((runs) => [...firstFrames, ...runs.flat()]);

const encoder = new TextEncoder();

/** Result of a stream with these frames: its deltas, and its turn or its error. */
async function requestStream(data: readonly string[]): Promise<object> {
  // a line break would end the line of the event
  const events = data.map((json) => `data: ${json.replace(/[\r\n]/g, " ")}\n\n`);
  const respond = () =>
    new Response(encoder.encode([...events, "data: [DONE]\n\n"].join("")), {
      headers: { "content-type": "text/event-stream" },
    });
  const client = createClient({
    baseURL: "https://gateway.test",
    clock: { now: () => 0, sleep: () => new Promise(() => {}) },
    fetch: async () => respond(),
    onEvent() {},
  });
  const stream = streamChat(client, question);
  const deltas: unknown[] = [];
  try {
    for await (const delta of stream) deltas.push(delta);
    return { deltas, turn: await stream.result() };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { name, message } = error;
    // a message may quote the frame, which ends differently
    return { deltas, name, message: message.replace(/:.*/s, ""), partial: stream.snapshot };
  }
}

/** The same JSON, without two equal frames in a row. */
const isUnlike = (data: readonly string[]) => data.map((json, at) => json + " ".repeat(1 + (at % 2)));

/** Counts how often JSON is parsed for a stream with these frames. */
async function countParses(data: readonly string[]): Promise<number> {
  const parse = vi.spyOn(JSON, "parse");
  await requestStream(data);
  const { length } = parse.mock.calls;
  parse.mockRestore();
  return length;
}

// the fast path for equal frames is loaded during the first stream
beforeAll(async () => {
  await requestStream([toChunk('"content":"a"')]);
  await vi.dynamicImportSettled();
});

test("JSON is parsed for each form of frame, and not for each frame", async () => {
  const countIn = (length: number) => {
    const thinking = Array.from({ length }, (_, at) => toChunk(`"reasoning_content":" ${at}"`));
    const speaking = Array.from({ length }, (_, at) => toChunk(`"content":" ${at}"`));
    return countParses([...thinking, ...speaking]);
  };
  expect(await countIn(2000)).toBe(await countIn(50));
});

// `SLUICE_RUNS=20000` reads a million frames, in a minute of CPU
test("frames that are alike are read as if each were parsed", { timeout: 900_000 }, async ({ annotate }) => {
  let read = 0;
  await fc.assert(
    fc.asyncProperty(frames, async (data) => {
      read += data.length;
      const [alike, parsed] = [await requestStream(data), await requestStream(isUnlike(data))];
      // vitest's comparison takes longer than the reading
      if (!isDeepStrictEqual(alike, parsed)) expect(alike).toEqual(parsed);
    }),
    readRuns(30),
  );
  await annotate(`${read} frames`);
});
