import type { Client } from "../client.js";
import type { StreamError } from "../errors.js";
import type { HeadersInput } from "../transport/headers.js";
import { requestOnce } from "../transport/request-once.js";
import type { Exchange, send } from "../transport/send.js";

// loaded for the few proxies that keep answers

/** An answer that the proxy keeps. */
interface KeptAnswer {
  readonly client: Client;
  readonly headers: HeadersInput | undefined;
  readonly streamId: string | undefined;
}

/** The point of a kept answer from which to continue. */
interface KeptPlace extends KeptAnswer {
  readonly exchange: Exchange;
  readonly send: typeof send;
  /** Id of the last event that was read; empty for the start. */
  readonly eventId: string;
  /** Number of resumptions since the last chunk. */
  readonly resumed: number;
  /** Error that ended the answer; undefined for a failed connection. */
  readonly cause: unknown;
}

/** Largest number of resumptions without a chunk between them. */
const ATTEMPTS = 3;
/**
 * Largest number of requests while the network or the proxy is unavailable: about half a minute, the length of a
 * tunnel.
 */
const TRIES = 4;

/**
 * Resumes an answer after an event, by `GET /v1/chat/streams/{id}` (`@sluice/worker-proxy/durable`). The chat request
 * is never sent again.
 *
 * @throws when the answer has ended, or has no rest
 */
export async function resumeStream(place: KeptPlace): Promise<Response> {
  const { client, exchange, send, headers, eventId, resumed } = place;
  if (resumed >= ATTEMPTS || !isOfConnection(place)) throw nothingMore();
  const behind = new Headers(headers);
  if (eventId !== "") behind.set("last-event-id", eventId);
  const query = { method: "get", headers: behind, repeat: "any" } as const;
  const path = pathOf(place);
  for (let tries = resumed; ; tries += 1)
    try {
      if (tries > 0) await client.clock.sleep(client.random() * 1000 * 2 ** tries, exchange.signal);
      // the gateway has answered, also if this request fails
      const response = await send(client, { ...exchange, path, state: { outcome: "unknown" } }, query);
      if (response.status === 204) throw nothingMore();
      return response;
    } catch (error) {
      if (tries === TRIES || !isPassing(error)) throw error;
    }
}

/** Returns true for an error that may pass: a failed network, or a proxy that is unavailable for a moment. */
function isPassing(error: unknown): boolean {
  const { name, status = 0 } = error as { name?: string; status?: number };
  return name === "ConnectionError" || status === 429 || status >= 500;
}

/**
 * Returns true for an error of the connection: the answer can continue. A cut that comes again directly after a
 * resumption is an error of the answer.
 */
function isOfConnection({ cause, resumed }: KeptPlace): boolean {
  if (cause === undefined) return true;
  const { reason, apiCode } = cause as Partial<StreamError>;
  const isFirstCut = apiCode === "upstream_cut" && resumed === 0;
  return reason === "truncated" && (apiCode === undefined || isFirstCut);
}

/** Stops an answer that is no longer needed, so that it is not billed further. */
export async function stopStream(answer: KeptAnswer): Promise<void> {
  const { client, headers } = answer;
  // the request survives the end of the page
  const init = { method: "DELETE", keepalive: true, ...(headers && { headers }) };
  await requestOnce(client, pathOf(answer), init, ({ body }) => body?.cancel());
}

/** Checks an id that comes from an answer, or from a storage that any script may write to. */
function pathOf({ streamId = "" }: KeptAnswer): string {
  if (!/^[\w-]{1,128}$/.test(streamId)) throw nothingMore();
  return `/v1/chat/streams/${streamId}`;
}

function nothingMore(): Error {
  return new Error("nothing more of this answer is kept");
}
