import { randomBytes } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { DONE, frame } from "../../packages/core/test/support/gateway.js";
import type { RunOptions, RunResult } from "./run-request.ts";
import type { Script } from "./server.ts";

/* Faults that need a real socket. The core is tested with each fault in Node, in Chromium and behind the proxy in workerd. */

/** A fault of the gateway, and how a call has to end that meets it. */
export interface Fault extends Pick<RunOptions, "timeout" | "length" | "retries"> {
  readonly name: string;
  readonly call: RunOptions["call"];
  /** The limit that is over once the server has the request. */
  readonly overMs?: number;
  readonly script: Script;
  readonly ends: Partial<RunResult>;
  /** The outcome behind the proxy. False if the tests of the proxy or of its limits have this fault. */
  readonly proxied?: Partial<RunResult> | false;
  /** The end in Node, if it differs. */
  readonly inNode?: Partial<RunResult>;
  /** The end in Chromium, if it differs. */
  readonly inPage?: Partial<RunResult>;
  /** Maximum megabytes that the server sends: those that the client reads and those that fill buffers on the way. */
  readonly megabytes?: number;
}

const MB = 1024 * 1024;
const PIECE = 64 * 1024;
const times = (megabytes: number) => (megabytes * MB) / PIECE;

const cors = "access-control-allow-origin: *\r\n";
const head = (status: number, type: string, more = "") =>
  `HTTP/1.1 ${status} Said\r\n${cors}content-type: ${type}\r\n${more}\r\n`;
const streamHead = (more = "connection: close\r\n") => head(200, "text/event-stream", more);
const jsonHead = (more = "connection: close\r\n") => head(200, "application/json", more);
const chunked = "transfer-encoding: chunked\r\n";
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

const one = frame({ content: "one" });
const whole = one + frame({}, "stop") + DONE;
const completion = JSON.stringify({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "one" }, finish_reason: "stop" }],
});

const complete = { end: "complete", text: "one" };
const cut = { end: "StreamError", detail: "truncated", text: "one" };
const lost = { end: "ConnectionError", billing: "maybe", text: "" };
const late = (detail: string, text = "") => ({ end: "TimeoutError", detail, text });
const tooLong = { end: "StreamError", detail: "malformed", text: "" };
const refused = (detail: number) => ({ end: "APIError", detail, text: "" });

/** Frames of this many bytes of text that does not compress, so that a part of the compressed bytes is a part of the text. */
const noise = one + frame({ content: randomBytes(32 * 1024).toString("hex") }) + frame({}, "stop") + DONE;
/** The bytes up to the middle. They are checked to be a part that can't be read to its end. */
function firstHalf(bytes: Buffer, read: (bytes: Buffer) => unknown): Buffer {
  const half = bytes.subarray(0, bytes.length / 2);
  try {
    read(half);
  } catch {
    return half;
  }
  throw new Error("the half is whole");
}

export const faults: readonly Fault[] = [
  {
    name: "a connection that is accepted without a response",
    call: "stream",
    overMs: 300,
    timeout: { firstChunkMs: 300 },
    script: () => {},
    ends: late("first-chunk"),
    proxied: false,
  },
  {
    name: "headers, and silence",
    call: "stream",
    overMs: 500,
    timeout: { firstChunkMs: 500 },
    script: (wire) => wire.write(streamHead()),
    ends: late("first-chunk"),
    proxied: false,
  },
  {
    name: "a part of a stream, and silence",
    call: "stream",
    timeout: { chunkMs: 300 },
    script: (wire) => wire.write(streamHead() + one),
    ends: late("chunk", "one"),
    proxied: false,
  },
  {
    name: "a part of JSON, and silence",
    call: "create",
    timeout: { chunkMs: 300 },
    script: (wire) => wire.write(`${jsonHead()}{"task_id":`),
    ends: { ...late("chunk"), billing: "maybe" },
    proxied: false,
  },
  {
    name: "a reset before the headers, of a task that may be billed",
    call: "create",
    script: async (wire) => {
      await wire.body();
      wire.reset();
    },
    ends: lost,
    proxied: false,
  },
  {
    name: "a reset within the headers",
    call: "stream",
    script: async (wire) => {
      await wire.write("HTTP/1.1 200 OK\r\ncontent-ty");
      wire.reset();
    },
    ends: lost,
    proxied: false,
  },
  {
    name: "a reset within the body",
    call: "stream",
    script: async (wire) => {
      await wire.write(streamHead(chunked) + chunk(one));
      await wire.seen();
      wire.reset();
    },
    ends: cut,
    proxied: false,
  },
  {
    name: "a stream of gzip that is cut",
    call: "stream",
    script: (wire) =>
      wire.end(
        Buffer.concat([
          Buffer.from(streamHead("content-encoding: gzip\r\nconnection: close\r\n")),
          firstHalf(gzipSync(noise), gunzipSync),
        ]),
      ),
    ends: cut,
    // the proxy's error event ends the incomplete line before it
    proxied: { end: "StreamError", text: "one" },
  },
  {
    name: "a stream of br that is cut",
    call: "stream",
    script: (wire) =>
      wire.end(
        Buffer.concat([
          Buffer.from(streamHead("content-encoding: br\r\nconnection: close\r\n")),
          firstHalf(brotliCompressSync(noise), brotliDecompressSync),
        ]),
      ),
    ends: cut,
    // the proxy's error event ends the incomplete line before it
    proxied: { end: "StreamError", text: "one" },
  },
  {
    name: "JSON of gzip that is cut",
    call: "complete",
    script: (wire) =>
      wire.end(
        Buffer.concat([
          Buffer.from(jsonHead("content-encoding: gzip\r\nconnection: close\r\n")),
          firstHalf(gzipSync(completion), gunzipSync),
        ]),
      ),
    ends: { text: "", billing: "maybe" },
  },
  {
    name: "HTTP/1.0 that ends where the connection does",
    call: "stream",
    script: (wire) => wire.end(streamHead("").replace("1.1", "1.0") + whole),
    ends: complete,
  },
  {
    name: "HTTP/1.0 that ends too early",
    call: "stream",
    script: (wire) => wire.end(streamHead("").replace("1.1", "1.0") + one),
    ends: cut,
  },
  {
    name: "a header of a megabyte",
    call: "create",
    script: (wire) => wire.end(`${jsonHead(`x-large: ${"x".repeat(MB)}\r\n`)}{"task_id":"t"}`),
    ends: lost,
    proxied: { ...refused(502), billing: "maybe" },
  },
  {
    name: "headers without an end",
    call: "stream",
    script: async (wire) => {
      await wire.write("HTTP/1.1 200 OK\r\n");
      await wire.flood(`x-more: ${"x".repeat(PIECE - 10)}\r\n`, times(300));
    },
    ends: lost,
    proxied: { ...refused(502), billing: "maybe" },
    megabytes: 16,
  },
  {
    name: "a line of 600 MB",
    call: "stream",
    script: async (wire) => {
      await wire.write(`${streamHead()}data: {"choices":[{"delta":{"content":"`);
      await wire.flood("x".repeat(PIECE), times(600));
    },
    ends: tooLong,
    proxied: { billing: "maybe", text: "" },
    megabytes: 48,
  },
  {
    name: "a line of 64 MB in a quarter of a megabyte of gzip",
    call: "stream",
    script: async (wire) => {
      const line = gzipSync(`data: {"choices":[{"delta":{"content":"${"x".repeat(64 * MB)}`, { level: 1 });
      await wire.write(streamHead("content-encoding: gzip\r\nconnection: close\r\n"));
      await wire.write(line);
    },
    ends: tooLong,
    proxied: { billing: "maybe", text: "" },
  },
  {
    // the bytes that a browser reads before it closes the connection depend on its load: only the end is checked
    name: "an error of 4 MB that does not end",
    call: "create",
    script: async (wire) => {
      await wire.write(`${head(500, "application/json")}{"error":{"message":"`);
      await wire.flood("x".repeat(PIECE), times(4));
    },
    ends: refused(500),
    proxied: refused(502),
    megabytes: 5,
  },
  {
    name: "JSON of 300 MB in place of a stream",
    call: "stream",
    script: async (wire) => {
      await wire.write(`${jsonHead()}{"choices":[{"message":{"content":"`);
      await wire.flood("x".repeat(PIECE), times(300));
    },
    ends: tooLong,
    proxied: refused(502),
    megabytes: 80,
  },
  {
    name: "JSON of 300 MB",
    call: "complete",
    script: async (wire) => {
      await wire.write(`${jsonHead()}{"choices":[{"message":{"content":"`);
      await wire.flood("x".repeat(PIECE), times(300));
    },
    ends: { end: "ResponseError", billing: "maybe", text: "" },
    proxied: refused(502),
    megabytes: 80,
  },
  {
    name: "a chunk whose size is no number",
    call: "stream",
    script: async (wire) => {
      await wire.write(streamHead(chunked) + chunk(one));
      await wire.seen();
      wire.end(`zz\r\n${whole}\r\n0\r\n\r\n`);
    },
    ends: cut,
  },
  {
    name: "a chunk that is shorter than its size",
    call: "stream",
    script: (wire) => wire.end(`${streamHead(chunked)}${chunk(one)}fff\r\n${frame({ content: " two" })}`),
    ends: { end: "StreamError", detail: "truncated" },
  },
  {
    name: "a length that is too long",
    call: "stream",
    script: (wire) => wire.end(streamHead("content-length: 9000\r\n") + one),
    ends: { end: "StreamError", detail: "truncated" },
  },
  {
    name: "a length that is too short",
    call: "stream",
    script: (wire) => wire.end(streamHead(`content-length: ${one.length}\r\n`) + whole),
    ends: cut,
  },
  {
    name: "one byte at a time",
    call: "stream",
    script: async (wire) => {
      for (const byte of Buffer.from(streamHead() + whole)) await wire.write(Uint8Array.of(byte));
      wire.end();
    },
    ends: complete,
  },
  {
    name: "a response while the upload goes on",
    call: "stream",
    length: 600_000,
    script: async (wire) => {
      await wire.write(streamHead() + whole);
      await wire.body();
      wire.end();
    },
    ends: complete,
  },
  {
    name: "a refusal while the upload goes on",
    call: "stream",
    length: 600_000,
    script: async (wire) => {
      const body = '{"error":{"message":"too large"}}';
      await wire.write(
        head(413, "application/json", `content-length: ${body.length}\r\nconnection: close\r\n`) + body,
      );
      await wire.body();
      wire.end();
    },
    ends: { ...refused(413), message: "too large" },
  },
  {
    name: "early hints before the response",
    call: "stream",
    script: (wire) => wire.end(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${streamHead()}${whole}`),
    ends: complete,
  },
  {
    name: "100 Continue that was not asked for",
    call: "stream",
    script: (wire) => wire.end(`HTTP/1.1 100 Continue\r\n\r\n${streamHead()}${whole}`),
    ends: complete,
    // its fetch takes it for a broken response
    inNode: lost,
  },
];
