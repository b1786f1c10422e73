import type { Clock } from "@sluice/core";
import { describeThrown, parseJSON } from "@sluice/core/extend";
import { createRecorder, type Recording } from "@sluice/emulator/recordings";

/** A request of the doctor, as data: `--dry-run` prints it. */
export interface Probe {
  readonly method: "GET" | "POST" | "DELETE" | "OPTIONS";
  /** Path below the base URL. */
  readonly path: string;
  /** Credentials: the user's key, none, or a key that no server knows. */
  readonly key: "own" | "none" | "wrong";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** True for a `body` that is sent as a form. @default false: JSON */
  readonly isForm?: boolean;
  /** Time for the whole response, in milliseconds. @default 20,000 */
  readonly limitMs?: number;
}

/** A response, or the reason why there is none. */
export interface Exchange {
  /** Undefined without a response. */
  readonly status: number | undefined;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed text. Undefined if it is not JSON. */
  readonly json: unknown;
  /** Number of pieces of the body. */
  readonly pieces: number;
  /** Milliseconds from the request to the last piece. */
  readonly ms: number;
  /** Why the response is absent or incomplete. Undefined for a complete response. */
  readonly failure: string | undefined;
}

/** The result of a request that was not sent. */
export const NO_EXCHANGE: Exchange = {
  status: undefined,
  headers: new Headers(),
  text: "",
  json: undefined,
  pieces: 0,
  ms: 0,
  failure: undefined,
};

/** Sends requests to one address, and records them. */
export interface Sender {
  readonly send: (probe: Probe) => Promise<Exchange>;
  /** A `fetch` for `createClient`, with `BASE_URL` as its base URL. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Takes the exchanges of `fetch` since the last call, when all of them have ended and are recorded. */
  readonly take: () => Promise<readonly Exchange[]>;
  /** Number of requests so far. */
  readonly count: () => number;
  /** Removes the key and other secrets from a text. */
  readonly redact: (text: string) => string;
}

/** Base URL of clients that use {@link Sender.fetch}. Its path is empty, so that recordings begin at the root. */
export const BASE_URL = "https://gateway.test";
export const WRONG_KEY = "sluice-doctor-wrong-key";
const PROBE_MS = 20_000;
const MAX_WAIT_MS = 30_000;

/** Options of {@link createSender}. */
export interface SenderOptions {
  readonly address: string;
  /** Key of the gateway, or token for a proxy. Undefined sends none. */
  readonly key: string | undefined;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Gets each exchange when it has ended, without secrets. */
  readonly save?: ((recording: Recording) => void) | undefined;
}

/** An exchange whose body is still read. */
interface OpenExchange {
  readonly status: number;
  readonly headers: Headers;
  readonly startedAt: number;
  text: string;
  pieces: number;
  lastAt: number;
}

/** Creates a sender. Only the client limits the time of the requests of `fetch`. */
export function createSender({ address, key, fetch, clock, signal, save }: SenderOptions): Sender {
  let unreachable: Error | undefined;
  let requests = 0;
  let openCount = 0;
  let reportEnd = () => {};
  const recorder = createRecorder({
    gateway: address,
    save: (recording) => `${save?.(recording)}`,
    onEnd() {
      openCount--;
      reportEnd();
    },
    fetch: (request) =>
      fetch(request).catch((error) => {
        unreachable = error;
        throw error;
      }),
  });
  const openExchanges: OpenExchange[] = [];
  return {
    send,
    fetch: fetchRecorded,
    take,
    count: () => requests,
    redact: recorder.redactor.redactText,
  };

  async function take() {
    // a client may have the result of a stream before its body ends
    while (openCount > 0) await new Promise<void>((resolve) => (reportEnd = resolve));
    return openExchanges.splice(0).map((exchange) => toExchange(exchange));
  }

  /** Sends a request, and once more after a 429, which is not charged. */
  async function send(probe: Probe): Promise<Exchange> {
    const exchange = await sendOnce(probe);
    const waitMs = Number(exchange.headers.get("retry-after") ?? 1) * 1000;
    if (exchange.status !== 429 || !(waitMs <= MAX_WAIT_MS)) return exchange;
    await clock.sleep(waitMs, signal);
    return sendOnce(probe);
  }

  async function sendOnce({
    method,
    path,
    key: credentials,
    headers,
    body,
    isForm,
    limitMs = PROBE_MS,
  }: Probe) {
    const sentKey = { own: key, none: undefined, wrong: WRONG_KEY }[credentials];
    const request = new Request(BASE_URL + path, {
      method,
      headers: {
        ...(sentKey !== undefined && { authorization: `Bearer ${sentKey}` }),
        ...(body && { "content-type": isForm ? FORM_TYPE : "application/json" }),
        ...headers,
      },
      body: body ? (isForm ? encodeForm(body) : JSON.stringify(body)) : null,
      signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
    });
    try {
      const response = await fetchRecorded(request);
      await response.text();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const [partial] = openExchanges.splice(0);
      return toExchange(partial, describeFailure(error, limitMs));
    }
    return toExchange(openExchanges.splice(0)[0]);
  }

  async function fetchRecorded(request: Request): Promise<Response> {
    requests++;
    openCount++;
    unreachable = undefined;
    const startedAt = clock.now();
    const response = await recorder.fetch(request);
    if (unreachable) throw unreachable;
    const { status, headers } = response;
    const exchange = { status, headers, startedAt, text: "", pieces: 0, lastAt: startedAt };
    openExchanges.push(exchange);
    const decoder = new TextDecoder();
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        exchange.text += decoder.decode(piece, { stream: true });
        exchange.pieces++;
        exchange.lastAt = clock.now();
        controller.enqueue(piece);
      },
    });
    return new Response(response.body?.pipeThrough(counter) ?? null, { status, headers });
  }
}

function toExchange(ended: OpenExchange | undefined, failure?: string): Exchange {
  if (!ended) return { ...NO_EXCHANGE, failure };
  const { status, headers, text, pieces, startedAt, lastAt } = ended;
  return { status, headers, text, json: parseJSON(text), pieces, ms: lastAt - startedAt, failure };
}

/** A fixed boundary, so that a recording is the same each time. */
const BOUNDARY = "sluice-doctor";
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

function encodeForm(fields: object): string {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${parts.join("")}--${BOUNDARY}--\r\n`;
}

/** Names the cause of a failed `fetch`, whose own message is only "fetch failed". */
function describeFailure(error: unknown, limitMs: number): string {
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `no response within ${limitMs / 1000} s`;
  const { cause } = error as { cause?: { code?: string; message?: string } };
  if (cause?.code === "ECONNREFUSED" || cause?.message === "bad port") return "nothing listens there";
  if (cause?.code === "ENOTFOUND" || cause?.code === "EAI_AGAIN") return "there is no such host";
  return describeThrown(cause instanceof Error ? cause : error);
}
