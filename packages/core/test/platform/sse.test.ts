import { sseCases } from "virtual:conformance";
import { createEventParser, type ServerSentEvent } from "@sluice/core/sse";
import { describe, expect, test } from "vitest";
import { createRandom, decodeBase64, splitBytes } from "../support/gateway.js";
import { describeRecorded } from "../support/recorded.js";

function read(pieces: readonly Uint8Array[]) {
  const events: ServerSentEvent[] = [];
  const unknown: string[] = [];
  let retry: number | null = null;
  const parser = createEventParser({
    onEvent: (event) => events.push(event),
    onRetry: (ms) => {
      retry = ms;
    },
    onUnknownField: (name, value) => unknown.push(`${name}=${value}`),
  });
  for (const piece of pieces) parser.push(piece);
  const unfinished = parser.end();
  return { events, retry, unknown, unfinished };
}

const readText = (text: string, size = Number.POSITIVE_INFINITY) => read(splitBytes(text, size));

describeRecorded("recorded event streams", sseCases, (cases) => {
  for (const { id, chunks_b64, expected, expected_retry, any_split_must_agree } of cases) {
    const chunks = chunks_b64.map(decodeBase64);
    const whole = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
    const cuts = any_split_must_agree
      ? [
          ...[1, 2, 3, 5, 7].map((size) => splitBytes(whole, size)),
          ...Array.from(whole, (_, at) => [whole.slice(0, at), whole.slice(at)]),
          ...[1, 2, 3, 4, 5].map((seed) => splitRandomly(whole, createRandom(seed))),
        ]
      : [];

    test(`${id} gives the standard's events, in its own reads and in ${cuts.length} other cuts`, () => {
      for (const pieces of [chunks, ...cuts]) {
        const { events, retry } = read(pieces);
        expect(events).toEqual(expected);
        expect(retry).toBe(expected_retry);
      }
    });
  }
});

function splitRandomly(bytes: Uint8Array, random: () => number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + Math.floor(random() * 12);
    pieces.push(bytes.slice(at, at + size));
    at += size;
  }
  return pieces;
}

describe("cases that the standard leaves open", () => {
  test("an event without its closing blank line is returned separately", () => {
    const { events, unfinished } = readText("data: one\n\ndata: [DONE]");
    expect(events.map(({ data }) => data)).toEqual(["one"]);
    expect(unfinished).toEqual({ event: "message", data: "[DONE]", lastEventId: "" });
  });

  test("nothing is unfinished after a whole event, or after a comment", () => {
    expect(readText("data: one\n\n").unfinished).toBeUndefined();
    expect(readText("data: one\n\n: ping").unfinished).toBeUndefined();
  });

  test("an unknown field is reported by name, and is not data", () => {
    const { events, unknown } = readText('data: one\n\nerror: {"message":"out of memory"}\n\n', 3);
    expect(events).toHaveLength(1);
    expect(unknown).toEqual(['error={"message":"out of memory"}']);
  });

  test("a comment is ignored, with any text", () => {
    const { events, unknown } = readText(": ping\n:\n:error: x\ndata: one\n\n", 3);
    expect(events.map(({ data }) => data)).toEqual(["one"]);
    expect(unknown).toEqual([]);
  });

  test("a character split within its bytes arrives whole", () => {
    for (const size of [1, 2, 3, 4])
      expect(readText("data: 你好 🧑‍🚀\n\n", size).events[0]?.data).toBe("你好 🧑‍🚀");
  });

  test("a character that is cut at the end of the stream is shown as a replacement character", () => {
    const bytes = new TextEncoder().encode("data: Gr\u00fc");
    expect(read([bytes.slice(0, -1)]).unfinished?.data).toBe("Gr\ufffd");
  });

  test("an event of eight megabytes arrives whole in reads of four kilobytes", () => {
    const large = "x".repeat(8 * 1024 * 1024);
    expect(readText(`data: ${large}\n\n`, 4096).events[0]?.data).toHaveLength(large.length);
  });

  test("a retry field without its line end is dropped, as the standard says", () => {
    expect([readText("retry: 1\n").retry, readText("data: one\n\nretry: 1").retry]).toEqual([1, null]);
  });

  test("an event as long as the bound is given", () => {
    const events: string[] = [];
    const parser = createEventParser({ maxLength: 9, onEvent: ({ data }) => events.push(data) });
    parser.push(new TextEncoder().encode("data: 012345678\n\n"));
    expect(events).toEqual(["012345678"]);
  });

  test.each([
    ["one line without an end", "data: 0123456789"],
    ["one line", "data: 0123456789\n\n"],
    ["many lines", "data: 01234\ndata: 56789\n"],
  ])("an event longer than the bound is refused, in any cut: %s", (_, text) => {
    for (const size of [1, 4, 1000]) {
      const parser = createEventParser({ maxLength: 9, onEvent: () => {} });
      expect(() => splitBytes(text, size).forEach(parser.push)).toThrow(/longer than 9 characters/);
    }
  });
});
