import { describeThrown } from "@sluice/core/extend";
import { type EmulatorClock, systemClock } from "../base/clock.js";
import { createJSON } from "../server/http.js";
import { toRequest } from "../server/request.js";
import { readBody } from "../server/request-body.js";
import { type BodyEnd, createPulledBody } from "../server/response-body.js";
import { createRedactor } from "../server/secrets.js";
import { type Chunk, redactEvents, splitEvents } from "./events.js";
import { addResponseSecrets } from "./exchange-secrets.js";
import { redactRequest, toRecordedRequest } from "./recorded-request.js";
import { formatRecording, type RecordedResponse, type Recording } from "./recording.js";

/** Options of {@link createRecorder}. */
export interface RecorderOptions {
  /** URL of the gateway, `https://gateway.example.com`. */
  readonly gateway: string;
  /** Stores a recording and returns its name. */
  readonly save: (recording: Recording) => string;
  /** Runs when a response has ended. `note` has the name of the recording, or the reason why there is none. */
  readonly onEnd?: (exchange: RecordedExchange) => void;
  /** Replacement for the global `fetch`, for tests. @default globalThis.fetch */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Source of time. @default the platform's */
  readonly clock?: EmulatorClock;
}

/** A request that passed through the recorder. */
export interface RecordedExchange {
  readonly method: string;
  /** Path without its query. */
  readonly path: string;
  readonly body: unknown;
  /** Status of the gateway's response. Undefined if the gateway did not respond. */
  readonly status: number | undefined;
  /** Time of arrival, in milliseconds since 1970. */
  readonly at: number;
  /** Duration in milliseconds. */
  readonly ms: number;
  /** Name of the recording, or the reason why there is none. */
  readonly note: string;
}

const RECORDED_HEADERS = /^(?:content-type|retry-after|retry-after-ms|x-request-id|x-ratelimit-.*)$/;
/** Headers of one connection. They are not passed on. */
const CONNECTION_HEADERS = /^(?:connection|content-encoding|content-length|keep-alive|transfer-encoding)$/;
const READABLE = /^(?:application\/(?:[\w.-]+\+)?json|text\/)/i;

/**
 * Creates a handler that forwards each request to the gateway with the caller's key, streams the response back, and
 * stores the exchange. `[redacted]` replaces keys, tokens, cookies, passwords, files, data URIs and queries of URLs.
 * Prompts and responses are stored: read a recording before you publish it. Images and videos are not recorded.
 *
 * @example
 * ```ts run
 * const recordings: Recording[] = [];
 * const recorder = createRecorder({
 *   gateway: "https://gateway.example.com",
 *   save: (recording) => `recording ${recordings.push(recording)}`,
 * });
 * const client = createClient({ baseURL: "https://gateway.example.com", apiKey: "sk-docs", fetch: recorder.fetch });
 * ```
 */
export function createRecorder(options: RecorderOptions) {
  const { gateway, save, onEnd, clock = systemClock, fetch: send = globalThis.fetch } = options;
  const redactor = createRedactor();
  const { username, password } = new URL(gateway);
  for (const secret of [username, password]) redactor.add(secret);
  return { fetch: receive, redactor };

  async function receive(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    const request = toRequest(input, init);
    const at = clock.now();
    const bytes = await request.clone().arrayBuffer();
    const { text } = await readBody(request);
    const recorded = toRecordedRequest(request, text, redactor);
    const reportEnd = (status: number | undefined, note: string) => {
      const { pathname: path } = new URL(request.url);
      onEnd?.({ method: request.method, path, body: recorded.body, status, at, ms: clock.now() - at, note });
    };

    let upstream: Response;
    try {
      upstream = await send(createForwarded(request, bytes));
    } catch (error) {
      reportEnd(undefined, `not recorded: the gateway can't be reached (${describeReason(error)})`);
      if (request.signal.aborted) throw request.signal.reason;
      return createUnreachable();
    }
    addResponseSecrets(upstream.headers, redactor);
    const headMs = clock.now() - at;
    const headers = new Headers([...upstream.headers].filter(([name]) => !CONNECTION_HEADERS.test(name)));
    const pieces: Chunk[] = [];
    const body = createPulledBody(
      request,
      () => readChunks(upstream, pieces),
      (bodyEnd) => reportEnd(upstream.status, saveExchange(bodyEnd)),
    );
    return new Response(isEmpty(upstream) ? finishEmpty() : body, { status: upstream.status, headers });

    /** Ends a response that must not have a body. */
    function finishEmpty(): null {
      reportEnd(upstream.status, saveExchange("finished"));
      return null;
    }

    function saveExchange(bodyEnd: BodyEnd): string {
      const type = upstream.headers.get("content-type") ?? "";
      if (pieces.length > 0 && !READABLE.test(type))
        return `not recorded: ${type || "a response without a type"}`;
      const response = toRecordedResponse(upstream, pieces, headMs, bodyEnd);
      const recording: Recording = {
        version: 1,
        recordedAt: new Date(at).toISOString(),
        request: redactRequest(recorded, redactor),
        response,
      };
      // no secret may reach the disk, also in an encoding that the redactor misses
      if (redactor.hasSecret(formatRecording(recording)))
        return "not recorded: a secret could not be removed";
      return `recorded as ${save(recording)}`;
    }
  }

  /** Creates the request to the gateway, with all headers but those of the connection. */
  function createForwarded(request: Request, bytes: ArrayBuffer): Request {
    const { pathname, search } = new URL(request.url);
    const headers = new Headers(request.headers);
    for (const name of ["host", "connection", "content-length", "accept-encoding"]) headers.delete(name);
    const { method, signal } = request;
    const body = bytes.byteLength > 0 ? bytes : null;
    return new Request(gateway.replace(/\/+$/, "") + pathname + search, {
      method,
      headers,
      body,
      signal,
      redirect: "manual",
    });
  }

  /** Yields the bytes of a response, and collects its chunks with their times. */
  async function* readChunks(response: Response, pieces: Chunk[]) {
    const decoder = new TextDecoder();
    let last = clock.now();
    for await (const bytes of response.body ?? []) {
      const now = clock.now();
      pieces.push({ afterMs: now - last, text: decoder.decode(bytes, { stream: true }) });
      last = now;
      yield bytes;
    }
  }

  function toRecordedResponse(
    response: Response,
    pieces: readonly Chunk[],
    headMs: number,
    bodyEnd: BodyEnd,
  ): RecordedResponse {
    const headers = Object.fromEntries(
      [...response.headers]
        .filter(([name]) => RECORDED_HEADERS.test(name))
        .map(([name, value]) => [name, redactor.redactText(value)]),
    );
    const head = { status: response.status, headers, end: bodyEnd };
    const isStream = /^text\/event-stream/i.test(headers["content-type"] ?? "");
    if (isStream || bodyEnd !== "finished")
      return { ...head, afterMs: headMs, events: redactEvents(splitEvents(pieces), redactor) };
    const whole = pieces.map(({ text }) => text).join("");
    const afterMs = headMs + pieces.reduce((sum, piece) => sum + piece.afterMs, 0);
    return { ...head, afterMs, ...toRecordedBody(whole) };
  }

  /** Stores compact JSON as a value, which a replay sends unchanged, and anything else as text. */
  function toRecordedBody(whole: string): Pick<RecordedResponse, "body" | "text"> {
    if (whole === "") return {};
    try {
      const value: unknown = JSON.parse(whole);
      if (JSON.stringify(value) === whole) return { body: redactor.redactValue(value) };
      const clean = redactor.redactValue(value);
      // an escaped secret is only found in the parsed value
      if (JSON.stringify(clean) !== JSON.stringify(value)) return { body: clean };
    } catch {
      // not JSON
    }
    return { text: redactor.redactText(whole) };
  }
}

function isEmpty(response: Response): boolean {
  return response.body === null || [204, 205, 304].includes(response.status);
}

function createUnreachable(): Response {
  const message = "The recorder can't reach the gateway. Is the address behind --record right?";
  const { body, headers } = createJSON({
    error: { message, type: "server_error", code: "gateway_unreachable" },
  });
  return new Response(body as string, { status: 502, headers });
}

function describeReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return describeThrown(cause instanceof Error ? cause : error);
}
