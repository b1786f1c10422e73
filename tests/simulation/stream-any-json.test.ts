import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { streams } from "virtual:conformance";
import {
  type ChatDelta,
  type ChatResult,
  type Clock,
  createClient,
  isGatewayError,
  streamChat,
} from "@sluice/core";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeBase64, question } from "../../packages/core/test/support/gateway.js";
import { readRuns } from "../support/seed.js";

/* Any value in any frame of a stream can be any JSON: the stream ends as a turn or as a known error. */

const pickChoice = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const call = (fields: object) => pickChoice({ tool_calls: [{ index: 0, ...fields }] });
const builtIn: unknown[][] = [
  [
    { id: "c", model: "m", created: 1, ...pickChoice({ role: "assistant", content: "" }) },
    pickChoice({ reasoning_content: "Hm." }),
    pickChoice({ content: "Hello" }),
    pickChoice({ content: [{ type: "thinking", thinking: [{ type: "text", text: "So." }] }] }),
    { ...pickChoice({}, "stop"), usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } },
  ],
  [
    pickChoice({ content: "Let me see." }),
    call({ id: "a", type: "function", function: { name: "weather", arguments: "" } }),
    call({ function: { arguments: '{"city":"Oslo"}' } }),
    { choices: [{ index: 1, delta: { refusal: "No." } }] },
    pickChoice({}, "tool_calls"),
  ],
  [pickChoice({ function_call: { name: "f", arguments: "{}" } }), pickChoice({}, "function_call")],
  [{ choices: [{ message: { content: "Whole", tool_calls: [{ id: "a", function: { name: "f" } }] } }] }],
];
const recorded = (streams ?? [])
  .map(({ base64 }) => toFrames(new TextDecoder().decode(decodeBase64(base64))))
  .filter((frames) => frames.length > 0 && frames.length < 20);

function toFrames(text: string): unknown[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].flatMap(([, json = ""]) => {
    try {
      return [JSON.parse(json)];
    } catch {
      return [];
    }
  });
}

const MARK = "the value to replace";

/** Paths of all values in `value`, its own among them. */
function listPaths(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  const below =
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, entry]) => listPaths(entry, [...path, key]))
      : [];
  return [path, ...below];
}

/** A copy of `value` with a mark in place of the value at a path. */
function mark(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return MARK;
  const fields = value as Record<string, unknown>;
  const changed = mark(fields[key], rest);
  return Array.isArray(value)
    ? value.map((entry, at) => (String(at) === key ? changed : entry))
    : Object.fromEntries(Object.entries(fields).map((entry) => (entry[0] === key ? [key, changed] : entry)));
}

/** A stream as the server sends it, and how it ends. */
interface Sent {
  readonly body: string;
  readonly ending: "end" | "held" | "more";
}

/** Any JSON, as text. */
const anyValue = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...["null", "true", "0", "7", "-1", '""', '"x"', "{}", "[]"]) },
  {
    weight: 5,
    arbitrary: fc.constantFrom("[null]", '{"toString":1}', '{"__proto__":{"a":1}}', "[[]]", '"0"'),
  },
  { weight: 40, arbitrary: fc.json({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 9000 }).map((depth) => '{"a":['.repeat(depth) + "]}".repeat(depth)),
  },
);
const changedStream: fc.Arbitrary<Sent> = fc
  .record({
    frames: fc.constantFrom(...builtIn, ...builtIn, ...recorded),
    frame: fc.nat(),
    path: fc.nat(),
    by: anyValue,
    done: fc.boolean(),
    isWhole: fc.nat({ max: 9 }).map((dice) => dice === 0),
    ending: fc.constantFrom("end", "end", "end", "held", "more"),
  })
  .map(({ frames, frame, path, by, done, isWhole, ending }) => {
    const at = frame % frames.length;
    const paths = listPaths(frames[at]);
    const changed = frames.map((each, nth) =>
      nth === at
        ? JSON.stringify(mark(each, paths[path % paths.length] ?? [])).replace(JSON.stringify(MARK), () => by)
        : JSON.stringify(each),
    );
    if (isWhole) return { body: changed[at] ?? "", ending: "end" };
    const events = changed.map((each) => `data: ${each}\n\n`);
    return { body: events.join("") + (done ? "data: [DONE]\n\n" : ""), ending };
  });

/** A clock that runs faster than the simulation's, so that a connection that is held ends soon. */
const createHastyClock = (times: number): Clock => ({
  now: () => performance.now() * times,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, ms / times);
      signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    }),
});

async function expectSettled(stream: ReturnType<typeof streamChat>, isLooped: boolean): Promise<void> {
  let text = "";
  const loop = async () => {
    for await (const delta of stream as AsyncIterable<ChatDelta>)
      if (delta.type === "text-delta") text += delta.text;
  };
  const looped = isLooped ? loop().catch((error: unknown) => error) : undefined;
  const settled = await stream.result().catch((error: unknown) => error);
  const thrown = await looped;
  if (thrown !== undefined) expect(thrown).toBe(settled);
  if (isGatewayError(settled)) {
    if (settled.name === "StreamError" && isLooped)
      expect(settled.partial).toMatchObject({ role: "assistant", content: text });
    return;
  }
  if (settled instanceof Error) throw settled;
  const { message, toolCalls, outcome, id, model } = settled as ChatResult;
  for (const value of [message.content, outcome, id, model]) expect(value).toBeTypeOf("string");
  for (const { id, name, arguments: given } of toolCalls)
    expect([typeof id, id !== "", typeof name, typeof given]).toEqual(["string", true, "string", "string"]);
  expect(new Set(toolCalls.map((each) => each.id)).size).toBe(toolCalls.length);
}

test("any JSON at any position of a stream ends as a turn or an error of the library, and the body is released", async () => {
  const encoder = new TextEncoder();
  const clock = createHastyClock(50_000);
  await fc.assert(
    fc.asyncProperty(changedStream, fc.boolean(), async ({ body, ending }, isLooped) => {
      let isOver = false;
      let nth = 0;
      const bytes = new ReadableStream<Uint8Array>({
        pull(controller) {
          nth += 1;
          if (nth === 1) return controller.enqueue(encoder.encode(body));
          if (ending === "held") return undefined;
          if (ending === "more" && nth < 500) return controller.enqueue(encoder.encode(": keep-alive\n\n"));
          isOver = true;
          return controller.close();
        },
        cancel() {
          isOver = true;
        },
      });
      const client = createClient({
        baseURL: "https://gateway.test",
        clock,
        fetch: async () => new Response(bytes),
        onEvent: () => {},
      });
      await expectSettled(streamChat(client, question), isLooped);
      // after [DONE], a stream has a moment to end before it is cancelled
      if (!isOver) await clock.sleep(4000);
      expect(isOver).toBe(true);
    }),
    { ...readRuns(30), timeout: 50_000 },
  );
}, 120_000);

let url: string;
let sending: Sent;
const server = createServer((request, response) => {
  request.resume();
  void sendAll(response, sending);
});
const closed = new Set<Promise<unknown>>();

/** Sends in two writes. Then ends, holds the connection, or sends comments until it is closed. */
async function sendAll(response: ServerResponse, { body, ending }: Sent): Promise<void> {
  let isClosed = false;
  closed.add(
    new Promise<void>((resolve) =>
      response.once("close", () => {
        isClosed = true;
        resolve();
      }),
    ),
  );
  const bytes = Buffer.from(body);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(bytes.subarray(0, bytes.length >> 1));
  response.write(bytes.subarray(bytes.length >> 1));
  while (ending === "more" && !isClosed) {
    response.write(": keep-alive\n\n");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (ending === "end") response.end();
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("any JSON over a socket leaves a closed connection at both ends", async () => {
  const client = createClient({
    baseURL: url,
    clock: createHastyClock(2000),
    retry: { limit: 0 },
    onEvent: () => {},
  });
  await fc.assert(
    fc.asyncProperty(changedStream, fc.boolean(), async (sent, isLooped) => {
      sending = sent;
      await expectSettled(streamChat(client, question), isLooped);
      await Promise.all(closed);
      closed.clear();
    }),
    { ...readRuns(5, 0.05), timeout: 50_000 },
  );
}, 120_000);
