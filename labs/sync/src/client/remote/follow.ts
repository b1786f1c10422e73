import { type Client, isGatewayError } from "@sluice/core";
import {
  createBodyReader,
  createEventParser,
  openSpan,
  readRefusal,
  rejectOnAbort,
  resolveAddress,
  type ServerSentEvent,
  toConnectionError,
  toIdleClock,
} from "@sluice/core/internal";
import { pathOf, type Wire } from "./wire.js";

/** Longest silence of the events, in milliseconds: the server sends a line each 15 s. */
const SILENCE_MS = 45_000;
/** Longest wait for the headers, in milliseconds. */
const HEADERS_MS = 30_000;

/**
 * Follows the events of a conversation until the connection ends. `onEvent` is awaited before the next event.
 *
 * @param since version from which on the records are wanted
 * @throws {APIError} | {ConnectionError} and the errors of `onEvent`; the signal's reason
 */
export async function follow(
  client: Client,
  { device }: Pick<Wire, "device">,
  id: string,
  since: number,
  signal: AbortSignal,
  onEvent: (event: ServerSentEvent) => unknown,
): Promise<void> {
  const ended = new AbortController();
  const stop = () => ended.abort(signal.reason);
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    const response = await open(client, device, id, since, ended.signal);
    await readEvents(client, response, ended, onEvent);
  } catch (cause) {
    signal.throwIfAborted();
    throw isGatewayError(cause) ? cause : toConnectionError(cause);
  } finally {
    signal.removeEventListener("abort", stop);
    ended.abort(null);
  }
}

async function open(
  client: Client,
  device: string,
  id: string,
  since: number,
  signal: AbortSignal,
): Promise<Response> {
  const path = pathOf(id, "/follow");
  const headers = await client.headers({ path });
  headers.set("accept", "text/event-stream");
  headers.set("last-event-id", String(since));
  const query = new URLSearchParams({ since: String(since), device });
  const request = new Request(resolveAddress(client, `${path}?${query}`), {
    headers,
    signal,
    redirect: "manual",
    ...("cache" in Request.prototype && { cache: "no-store" }),
    ...(client.credentials && { credentials: client.credentials }),
  });
  const span = openSpan(toIdleClock(client.clock), signal, HEADERS_MS, () => silent(HEADERS_MS));
  try {
    const response = await rejectOnAbort(client.fetch(request), span.signal);
    if (!response.ok) throw await readRefusal(response, client, span.signal);
    return response;
  } finally {
    span.end();
  }
}

async function readEvents(
  client: Client,
  response: Response,
  ended: AbortController,
  onEvent: (event: ServerSentEvent) => unknown,
): Promise<void> {
  const reader = createBodyReader(response);
  const events: ServerSentEvent[] = [];
  const parser = createEventParser({ onEvent: (event) => void events.push(event) });
  try {
    for (;;) {
      const span = openSpan(toIdleClock(client.clock), ended.signal, SILENCE_MS, () => silent(SILENCE_MS));
      const { done, value } = await rejectOnAbort(reader.read(), span.signal).finally(span.end);
      if (done) return;
      parser.push(value as Uint8Array);
      for (const event of events.splice(0)) await onEvent({ ...event, data: client.scrub(event.data) });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function silent(ms: number): DOMException {
  return new DOMException(`no event for ${ms} ms`, "TimeoutError");
}
