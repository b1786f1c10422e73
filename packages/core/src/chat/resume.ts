import type { Client } from "../client.js";
import type { StreamError } from "../errors.js";
import type { HeadersInput } from "../transport/headers.js";
import type { Exchange, send } from "../transport/send.js";

// no import but of types: an app's bundler can then load this alone, for the few proxies that keep answers

/** An answer that the proxy keeps. */
interface KeptAnswer {
  readonly client: Client;
  readonly headers: HeadersInput | undefined;
  readonly streamId: string | undefined;
}

/** A place in it, and what led there. */
interface KeptPlace extends KeptAnswer {
  readonly exchange: Exchange;
  readonly send: typeof send;
  /** The last event that was read; empty for the start. */
  readonly eventId: string;
  /** Number of resumptions since the last chunk. */
  readonly resumed: number;
  /** Error that ended the answer; undefined if that was the network. */
  readonly cause: unknown;
}

/** Largest number of resumptions without a chunk between them. */
const ATTEMPTS = 3;
/** Largest number of requests while the network or the proxy is away: about half a minute, the length of a tunnel. */
const TRIES = 4;

/**
 * Takes an answer up again behind an event, by `GET /v1/chat/streams/{id}` (`@sluice/worker-proxy/durable`). A question
 * is never asked twice.
 *
 * @throws when the answer has ended, or there is nothing more of it
 */
export async function resumeStream(place: KeptPlace): Promise<Response> {
  const { client, exchange, send, headers, eventId, resumed } = place;
  if (resumed >= ATTEMPTS || !isOfConnection(place)) throw nothingMore();
  const behind = new Headers(headers);
  if (eventId !== "") behind.set("last-event-id", eventId);
  const asked = { method: "get", headers: behind, repeat: "any" } as const;
  const path = pathOf(place);
  for (let tries = resumed; ; tries += 1)
    try {
      if (tries > 0) await client.clock.sleep(client.random() * 1000 * 2 ** tries, exchange.signal);
      // the question was answered, whatever becomes of this
      const response = await send(client, { ...exchange, path, state: { outcome: "unknown" } }, asked);
      if (response.status === 204) throw nothingMore();
      return response;
    } catch (error) {
      if (tries === TRIES || !isPassing(error)) throw error;
    }
}

/** The network, or a proxy that is away for a moment. */
function isPassing(error: unknown): boolean {
  const { name, status = 0 } = error as { name?: string; status?: number };
  return name === "ConnectionError" || status === 429 || status >= 500;
}

/** A cut ends a connection, other errors the answer. So does a cut that is said again right after it was taken up. */
function isOfConnection({ cause, resumed }: KeptPlace): boolean {
  if (cause === undefined) return true;
  const { reason, apiCode } = cause as Partial<StreamError>;
  const isSaidOnce = apiCode === "upstream_cut" && resumed === 0;
  return reason === "truncated" && (apiCode === undefined || isSaidOnce);
}

/** Ends an answer that nobody wants any more, so that nobody pays for it. */
export async function stopStream(answer: KeptAnswer): Promise<void> {
  const { client } = answer;
  const { credentials } = client;
  const headers = await client.headers();
  for (const [name, value] of new Headers(answer.headers)) headers.set(name, value);
  const request = new Request(client.baseURL + pathOf(answer), {
    method: "DELETE",
    headers,
    // as everywhere: the key goes to the configured address and to no other
    redirect: "manual",
    // the page may be about to go
    keepalive: true,
    ...(credentials && { credentials }),
  });
  const response = await client.fetch(request);
  await response.body?.cancel();
}

/** The id comes from an answer, or from a storage that anybody can write to. */
function pathOf({ streamId = "" }: KeptAnswer): string {
  if (!/^[\w-]{1,128}$/.test(streamId)) throw nothingMore();
  return `/v1/chat/streams/${streamId}`;
}

function nothingMore(): Error {
  return new Error("nothing more of this answer is kept");
}
