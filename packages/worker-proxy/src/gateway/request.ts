import { logError } from "../report.js";
import { type Call, failed } from "./call.js";
import type { createKeyInUse } from "./key-in-use.js";

/** The way to the gateway, for one request of a client. */
export interface Gateway {
  readonly baseURL: string;
  /** The key in use, and the one that follows it while keys are changed. */
  readonly apiKeys: readonly string[];
  readonly keyInUse: ReturnType<typeof createKeyInUse>;
  /** Sends a request, by `fetch` of the options or of the platform. */
  readonly send: (url: string, init: RequestInit) => Promise<Response>;
  /** Longest time until the headers of an answer, in milliseconds. */
  readonly headersMs: number;
}

/** Notes on a request to the gateway, for its event. */
export interface Asked {
  readonly known: { upstreamStatus?: number; attempts?: number };
}

/** A request to the gateway. */
export interface Outgoing {
  readonly method: string;
  /** A constant one, or one with an id that was checked. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Headers beside the proxy's own. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Statuses with which a gateway refuses a key: it is wrong, its account is empty, or it may not be used. */
const REFUSES_KEY = [401, 402, 403];

/**
 * Sends a request to the gateway. Of the client's request only `body` goes along: the headers are the proxy's, the
 * path is the table's.
 *
 * @throws {Refusal} 502 when there is no answer, 504 when it takes too long, 499 when the client has left
 */
export async function ask(
  { baseURL, apiKeys, keyInUse, send, headersMs }: Gateway,
  { method, path, body, headers }: Outgoing,
  { call, report }: { readonly call: Call; readonly report?: Asked | undefined },
): Promise<Response> {
  const [key = "", other] = keyInUse.first(apiKeys);
  let answer = await askWith(key);
  if (REFUSES_KEY.includes(answer.status) && other !== undefined) {
    const { status } = answer;
    answer.body?.cancel().catch(() => {});
    if (report) report.known.attempts = 2;
    answer = await askWith(other);
    // it is tried first from now on, so that this line comes once
    if (!REFUSES_KEY.includes(answer.status) && keyInUse.took(other))
      logError(`the gateway refused one key with ${status}; the other is used from now on`);
  }
  if (report) report.known.upstreamStatus = answer.status;
  return answer;

  async function askWith(apiKey: string): Promise<Response> {
    if (call.stopped) throw failed(call.stopped, "not_reached");
    const init: RequestInit = {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${apiKey}`,
        accept: body?.["stream"] === true ? "text/event-stream" : "application/json",
        // a compressed stream is held back until it ends by whatever decompresses it on the way
        "accept-encoding": "identity",
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
      // a redirect would take the key to another address
      redirect: "manual",
      signal: call.signal,
    };
    const startedAt = Date.now();
    const connected = async () => {
      try {
        return await send(baseURL + path, init);
      } catch (error) {
        const ms = Date.now() - startedAt;
        const { unanswered } = await import("./unanswered.js");
        throw unanswered(error, ms);
      }
    };
    const limit = { ms: headersMs, late: "upstream_timeout" } as const;
    return await call.wait(connected, "upstream_unreachable", limit);
  }
}
