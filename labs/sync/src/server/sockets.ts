import { type ObjectSocket, openReaders } from "@sluice/durable/internal";
import { BEAT_MS, openEventStream } from "./event-stream.js";

/*
 * On Cloudflare the proxy holds the stream of a client, and a socket to the object: an object that sends a stream itself is
 * billed for as long as that is open, and one that has sockets alone sleeps. A Worker is billed for the CPU that it uses.
 */

/** The last event of a conversation that is gone. */
export const GONE = "event: gone\ndata: {}\n\n";
/** The message of a client that has taken everything. */
const MORE = "more";

/** The proxy's end of a socket. */
interface ProxySocket {
  accept(): void;
  send(text: string): void;
  close(): void;
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: "close" | "error", listener: () => void): void;
}

/** The platform's sockets; the second end is the object's. */
type SocketPairs = new () => { readonly 0: object; readonly 1: ObjectSocket };

/** Returns true where an object can have sockets that stay open while it sleeps. */
function hasSockets(): boolean {
  return "WebSocketPair" in globalThis;
}

/** Makes a socket, and the answer with its other end. */
export function openPair(): { readonly socket: ObjectSocket; readonly response: Response } {
  const { WebSocketPair } = globalThis as unknown as { WebSocketPair: SocketPairs };
  const { 0: webSocket, 1: socket } = new WebSocketPair();
  return { socket, response: new Response(null, { status: 101, webSocket } as ResponseInit) };
}

/** Headers of a request that asks for a socket; none on a host without them. */
export function upgradeHeaders(): Record<string, string> {
  return hasSockets() ? { upgrade: "websocket" } : {};
}

/** Makes the stream of a client from the socket in an object's answer; any other answer stays as it is. */
export function streamOf(answer: Response, signal: AbortSignal): Response {
  const { webSocket: socket } = answer as { webSocket?: ProxySocket | null };
  if (!socket) return answer;
  let isAsked = false;
  socket.accept();
  const { response, push, end } = openEventStream(openReaders(1, BEAT_MS), signal, { more, left });
  socket.addEventListener("message", ({ data }) => {
    if (String(data).startsWith("event: records\n")) isAsked = false;
    push(String(data));
  });
  socket.addEventListener("close", end);
  socket.addEventListener("error", end);
  return response;

  /** Asks for what follows, once until it comes. */
  function more(): void {
    if (isAsked) return;
    isAsked = true;
    attempt(() => socket?.send(MORE));
  }

  function left(): void {
    attempt(() => socket?.close());
  }
}

/** Closes the object's end, too. */
export function closed(socket: ObjectSocket): void {
  attempt(() => socket.close());
}

/** Does what fails for a socket that is closing: its client reads on with another one. */
export function attempt(act: () => void): void {
  try {
    act();
  } catch {
    // nothing is lost
  }
}
