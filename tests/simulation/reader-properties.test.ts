import {
  type AssistantMessage,
  applyDelta,
  type ChatDelta,
  type ChatRequestMessage,
  completeChat,
  createVideoTask,
  isGatewayError,
  parseVideoTask,
  repairMessages,
  streamChat,
} from "@sluice/core";
import { createPartialJSON } from "@sluice/core/partial-json";
import { checkRequest, models } from "@sluice/core/schemas";
import { createEventParser } from "@sluice/core/sse";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyMessage } from "../../packages/core/src/chat/protocol/accumulate.js";
import {
  createTestClient,
  frame,
  question,
  streamResponse,
} from "../../packages/core/test/support/gateway.js";
import { readRuns } from "../support/seed.js";

/* Each reader of foreign data, with any data. */

/** Lengths of the pieces into which something is cut, from its beginning. */
const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 });

function cutInChunks<T extends { slice(from: number, to?: number): T; length: number }>(
  whole: T,
  lengths: readonly number[],
): T[] {
  const pieces: T[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(whole.slice(at, at + length));
    at += length;
  }
  return [...pieces, whole.slice(at)];
}

const word = fc.constantFrom("data", "event", "id", "retry", "", "error", "dat", "data ", "a", "é", "🚀");
const gap = fc.constantFrom(":", ": ", ":  ", "", " :", "::");
const lineEnd = fc.constantFrom("\n", "\n", "\r\n", "\r", "\n\n", "\r\r", "\r\n\r\n");
const eventStream = fc
  .array(fc.tuple(word, gap, fc.oneof(word, fc.constantFrom("7", "x\0y", "12a")), lineEnd), { maxLength: 25 })
  .map((lines) => lines.flat().join(""));

/** The standard's algorithm, line by line, on the whole text. */
function readSlowly(stream: string): { events: object[]; retries: number[] } {
  const lines = stream.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/);
  const events: object[] = [];
  const retries: number[] = [];
  let data: string[] = [];
  let event = "";
  let lastEventId = "";
  // what follows the last line end is not a line
  for (const line of lines.slice(0, -1)) {
    if (line === "") {
      if (data.length > 0) events.push({ event: event || "message", data: data.join("\n"), lastEventId });
      data = [];
      event = "";
      continue;
    }
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") data.push(value);
    if (name === "event") event = value;
    if (name === "id" && !value.includes("\0")) lastEventId = value;
    if (name === "retry" && /^\d+$/.test(value)) retries.push(Number(value));
  }
  return { events, retries };
}

test("any event stream in any cut gives the events of the standard's algorithm", () => {
  fc.assert(
    fc.property(eventStream, cuts, (stream, lengths) => {
      const events: object[] = [];
      const retries: number[] = [];
      const parser = createEventParser({
        onEvent: (event) => events.push(event),
        onRetry: (ms) => retries.push(ms),
      });
      for (const piece of cutInChunks(Buffer.from(stream), lengths)) parser.push(piece);
      expect({ events, retries }).toEqual(readSlowly(stream));
    }),
    readRuns(100),
  );
});

const delta: fc.Arbitrary<object> = fc.oneof(
  fc.record({ content: fc.string() }),
  fc.record({ reasoning_content: fc.string() }),
  fc.record({ content: fc.string(), reasoning_content: fc.string() }),
  fc
    .record({ index: fc.nat({ max: 2 }), name: fc.constantFrom("f", "g"), text: fc.string() })
    .map(({ index, name, text }) => ({
      tool_calls: [{ index, id: `call-${index}`, function: { name, arguments: text } }],
    })),
);

test("any response in any cut is the same turn, which is the fold of its deltas", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(delta, { minLength: 1, maxLength: 8 }), cuts, async (deltas, lengths) => {
      const bytes = Buffer.from([...deltas.map((each) => frame(each)), frame({}, "stop")].join(""));
      const read = async (pieces: readonly Uint8Array[]) => {
        const seen: ChatDelta[] = [];
        const { client } = createTestClient(() => streamResponse(pieces), { clock, onEvent: () => {} });
        const stream = streamChat(client, question);
        for await (const each of stream) seen.push(each);
        const { message, toolCalls, outcome, finishReason } = await stream.result();
        expect(seen.reduce<AssistantMessage | undefined>(applyDelta, undefined) ?? emptyMessage).toEqual(
          message,
        );
        return { message, toolCalls, outcome, finishReason };
      };
      const pieces = cutInChunks(bytes, lengths).filter(({ length }) => length > 0);
      expect(await read(pieces)).toEqual(await read([bytes]));
    }),
    readRuns(20, 0.2),
  );
});
const clock = { now: () => 0, sleep: () => new Promise<never>(() => {}) };

const anyJSON = fc.json({ maxDepth: 4, stringUnit: "binary" });

describe("JSON that is not complete yet", () => {
  test("is in any cut what JSON.parse makes of the whole", () => {
    fc.assert(
      fc.property(anyJSON, cuts, (text, lengths) => {
        const document = createPartialJSON();
        for (const piece of cutInChunks(text, lengths)) {
          document.push(piece);
          // a reading in between changes nothing
          expect(document.state).not.toBe("malformed");
          void document.value;
        }
        expect(document.value).toEqual(JSON.parse(text));
        expect(document.state).toBe("complete");
      }),
      readRuns(100),
    );
  });

  test("is malformed exactly where JSON.parse throws, and keeps what was read", () => {
    const text = fc.oneof(
      fc.tuple(anyJSON, fc.nat(), fc.constantFrom("}", "]", ",", ":", '"', "\\", "x", "0", "-", "\n", "")),
    );
    fc.assert(
      fc.property(text, ([json, position, put]) => {
        const at = position % (json.length + 1);
        const changed = json.slice(0, at) + put + json.slice(at + 1);
        const document = createPartialJSON();
        document.push(changed);
        const parsed = parseAll(changed);
        if (parsed) expect([document.state, document.value]).toEqual(["complete", parsed.value]);
        else expect(document.state).not.toBe("complete");
      }),
      readRuns(100),
    );
  });
});

function parseAll(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

const ids = Object.keys(models);
const names = [
  ...[
    "model",
    "messages",
    "role",
    "content",
    "type",
    "text",
    "image_url",
    "url",
    "tools",
    "tool_calls",
    "input",
  ],
  ...["prompt", "media", "images", "size", "n", "stream", "thinking", "max_tokens", "seed", "__proto__"],
];
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<unknown>(null, true, 0, -1, 1e308, "", "user", "text", "https://a.test/b.png", ...ids),
    fc.jsonValue(),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie("any"), { maxKeys: 4 }),
  ),
})).any;

test("any JSON is a request that is accepted, or has issues with words: no check throws or changes it", () => {
  const request = fc.oneof(
    value,
    fc
      .tuple(fc.constantFrom(...ids), fc.dictionary(fc.constantFrom(...names), value))
      .map(([model, fields]) => ({ ...fields, model })),
  );
  fc.assert(
    fc.property(request, (sent) => {
      const before = JSON.stringify(sent);
      for (const issue of Object.values(checkRequest(sent)).flat())
        expect([typeof issue.path, issue.message === "", issue.rule === ""]).toEqual([
          "string",
          false,
          false,
        ]);
      expect(JSON.stringify(sent)).toBe(before);
    }),
    readRuns(100),
  );
});

test("any JSON is the response to a query of a video, or a ResponseError", () => {
  const names = [
    "status",
    "data",
    "result_url",
    "url",
    "content",
    "video_url",
    "progress",
    "fail_reason",
    "id",
    "output",
  ];
  const words = fc.constantFrom<unknown>(
    "SUCCESS",
    "succeeded",
    "FAILURE",
    "queued",
    "100%",
    100,
    "",
    null,
    {},
  );
  const responseFields = fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(words, fc.jsonValue(), fc.dictionary(fc.constantFrom(...names), words)),
  );
  fc.assert(
    fc.property(fc.oneof(responseFields, fc.jsonValue()), (raw) => {
      try {
        const task = parseVideoTask(raw, { id: "task" });
        expect(task.id).toBeTypeOf("string");
        if (task.state === "succeeded") expect(task.url).toMatch(/./);
      } catch (error) {
        expect(error).toMatchObject({ name: "ResponseError" });
      }
    }),
    readRuns(100),
  );
});

const callId = fc.constantFrom<unknown>("a", "b", "c", 7, "");
const message = fc.oneof(
  fc.record({ role: fc.constant("user"), content: fc.string() }),
  fc.record({ role: fc.constant("tool"), tool_call_id: callId, content: fc.string() }),
  fc.record({
    role: fc.constant("assistant"),
    content: fc.constantFrom<unknown>("", "text", null),
    tool_calls: fc.array(
      fc.record({
        id: callId,
        type: fc.constant("function"),
        function: fc.record({
          name: fc.constant("f"),
          arguments: fc.constantFrom("{}", '{"a":', "", "[]", "x"),
        }),
      }),
      { maxLength: 3 },
    ),
  }),
);

test("repairs any history so that each call has one result, and leaves a repaired history unchanged", () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 10 }), (history) => {
      const before = JSON.stringify(history);
      const repaired = repairMessages(history as readonly ChatRequestMessage[]);
      expect(JSON.stringify(history)).toBe(before);
      const open: string[] = [];
      for (const each of repaired) {
        if (each.role === "tool")
          expect(open.splice(open.indexOf(each.tool_call_id), 1)).toEqual([each.tool_call_id]);
        else expect(open).toEqual([]);
        if (each.role === "assistant") open.push(...(each.tool_calls ?? []).map(({ id }) => id));
      }
      expect(open).toEqual([]);
      expect(repairMessages(repaired)).toEqual(repaired);
      expect(repaired.filter(({ role }) => role === "user")).toEqual(
        history.filter(({ role }) => role === "user"),
      );
    }),
    readRuns(100),
  );
});

const KEY = "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg";
const errorBody = fc.oneof(
  fc.string(),
  fc.json(),
  fc.constantFrom("<h1>", '{"error":', '"', "data: {}", "error: x", "\u0000", "[", "null"),
  fc
    .dictionary(
      fc.constantFrom("error", "errors", "message", "msg", "code", "detail", "type", "param"),
      fc.oneof(fc.jsonValue(), fc.constant({ message: `the key ${KEY}`, code: KEY, type: KEY })),
    )
    .map((body) => JSON.stringify(body)),
  fc.constant(`<title>${KEY}`),
);

test("any body of any status is an error of the library, without the key, and can be printed", async () => {
  await fc.assert(
    fc.asyncProperty(
      errorBody,
      fc.constantFrom(200, 204, 302, 400, 401, 408, 429, 500, 503),
      async (body, status) => {
        const respond = () => new Response(status === 204 ? null : body, { status });
        const { client } = createTestClient(respond, { apiKey: KEY, retry: { limit: 0 }, onEvent: () => {} });
        const calls = [
          () => streamChat(client, question).result(),
          () => completeChat(client, question),
          () => createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } }),
        ];
        for (const call of calls) {
          const error: unknown = await call().catch((thrown: unknown) => thrown);
          if (!isGatewayError(error)) throw error;
          expect(error.message).not.toBe("");
          expect(error.message.length).toBeLessThan(10_000);
          expect(error.billing).toMatch(/^(none|maybe)$/);
          expect(error.message + JSON.stringify(error) + error.stack).not.toContain(KEY);
        }
      },
    ),
    readRuns(20, 0.1),
  );
});
