import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import type { ClientEvent } from "@sluice/core";
import { createTelemetry } from "@sluice/otel";
import { createProxyTelemetry } from "@sluice/otel/proxy";
import { expect, test } from "vitest";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const MB = 1024 * 1024;
/** In milliseconds. 100,000 calls and a garbage collection took 8 s on two busy cores. */
const TIMEOUT = 60_000;
const tracerProvider = new TracerProvider();

/** Runs `count` calls, and returns the bytes of memory that the last nine tenths of them added. */
function measureHeld(call: (nth: number) => void, count = 100_000): number {
  for (let nth = 0; nth < count / 10; nth++) call(nth);
  const before = readHeld();
  for (let nth = count / 10; nth < count; nth++) call(nth);
  return readHeld() - before;
}

function readHeld(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

/** Creates a client whose events come from the test. */
function openClient() {
  const telemetry = createTelemetry({ tracerProvider });
  const createSteps = (nth: number) => {
    const call = {
      callId: `call-${nth}`,
      kind: "chat",
      path: "/v1/chat/completions",
      model: "delta-5.3",
    } as const;
    const request = { ...call, type: "request", attempt: 1 } as const;
    const end = { ...call, type: "end", outcome: "tool-calls", ms: 5, messageId: `message-${nth}` } as const;
    return { call, request, end: end as unknown as ClientEvent };
  };
  return { headers: telemetry.headers, emit: telemetry.onEvent, createSteps };
}

// a span has 500 bytes, and a key has 30: 90,000 leaked spans or keys would be more than 2.5 MB
test("100,000 calls that end with tool calls hold no more memory than 10,000", {
  timeout: TIMEOUT,
}, () => {
  const { headers, emit, createSteps } = openClient();
  const bytes = measureHeld((nth) => {
    const { call, request, end } = createSteps(nth);
    headers(call);
    emit(request as unknown as ClientEvent);
    emit(end);
  });
  expect(bytes).toBeLessThan(MB);
});

test("100,000 calls and runs of tools whose end never comes hold no more memory than 10,000", {
  timeout: TIMEOUT,
}, () => {
  const { emit, createSteps } = openClient();
  const bytes = measureHeld((nth) => {
    emit(createSteps(nth).request as unknown as ClientEvent);
    emit({ type: "tool-start", name: "weather", toolCallId: `tool-${nth}`, messageId: `message-${nth}` });
  });
  expect(bytes).toBeLessThan(MB);
});

test.each([
  ["end", true],
  ["are lost without an event", false],
])(
  "100,000 requests of a proxy that %s hold no more memory than 10,000",
  { timeout: TIMEOUT },
  (_, hasEnd) => {
    const { traceparent, onEvent } = createProxyTelemetry({ tracerProvider, maxOpenSpans: 1000 });
    const begun = { method: "POST", route: "chat", startedAt: Date.now() } as const;
    const bytes = measureHeld(() => {
      const ownTraceparent = traceparent(begun) ?? "";
      const request = { type: "request", requestId: "r", method: "POST", status: 200 } as const;
      if (hasEnd) onEvent({ ...request, ownTraceparent, outcome: "complete", durationMs: 5 });
    });
    expect(bytes).toBeLessThan(MB);
  },
);
