import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { decodeJwt, importJWK, jwtVerify } from "jose";
import { type WebSocket, WebSocketServer } from "ws";

/*
 * A push service for Firefox: the browser connects to it by WebSocket, and a sender posts to the addresses that it gives.
 * It passes each message on as it came: encrypted for the browser alone.
 */

/** The origin of Mozilla's service, so that a sender needs no exception for this one. */
export const PUSH_ORIGIN = "https://updates.push.services.mozilla.com";

/** A message that was passed on. */
export interface Delivery {
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Subject of the sender's signature. */
  readonly subject: string | undefined;
  /** Code of the browser: 100 where it has decrypted the message, and the service worker has handled it. */
  readonly code: Promise<number>;
}

/** Messages of the browser. */
interface Message {
  readonly messageType?: "hello" | "register" | "unregister" | "ack" | "nack" | "broadcast_subscribe";
  readonly channelID?: string;
  /** Public key of the sender that may send. */
  readonly key?: string;
  readonly updates?: readonly { readonly version: string; readonly code: number }[];
}

export interface PushService {
  /** Address for the browser. */
  readonly url: string;
  /** Resolves when a browser has connected. */
  readonly connected: Promise<void>;
  readonly deliveries: readonly Delivery[];
  /** Takes a request to `PUSH_ORIGIN`. */
  readonly take: (request: Request) => Promise<Response>;
  readonly close: () => void;
}

/** Starts the push service on a free port of this machine. */
export async function startPushService(): Promise<PushService> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  const channels = new Map<
    string,
    { readonly socket: WebSocket; readonly id: string; readonly key: string }
  >();
  const settle = new Map<string, (code: number) => void>();
  const deliveries: Delivery[] = [];
  server.on("connection", (socket) =>
    socket.on("message", (data) => {
      const answer = answerTo(JSON.parse(String(data)) as Message, socket);
      if (answer) socket.send(JSON.stringify(answer));
    }),
  );
  await once(server, "listening");
  const connected = once(server, "connection").then(() => {});
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connected,
    deliveries,
    take,
    close() {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };

  function answerTo(message: Message, socket: WebSocket): object | undefined {
    const { messageType, channelID: id = "", key = "", updates = [] } = message;
    switch (messageType) {
      case "hello":
        return { messageType, uaid: randomUUID().replaceAll("-", ""), status: 200, use_webpush: true };
      case "register": {
        const path = `/wpush/v2/${randomUUID()}`;
        channels.set(path, { socket, id, key: key.replace(/=+$/, "") });
        return { messageType, channelID: id, status: 200, pushEndpoint: PUSH_ORIGIN + path };
      }
      case "unregister":
        return { messageType, channelID: id, status: 200 };
      case "ack":
        for (const { version, code } of updates) settle.get(version)?.(code);
        return undefined;
      case undefined: // a ping
        return {};
      default:
        return undefined;
    }
  }

  async function take(request: Request): Promise<Response> {
    const channel = channels.get(new URL(request.url).pathname);
    if (!channel) return new Response(null, { status: 404 });
    const subject = await signerOf(request, channel.key).catch(() => null);
    if (subject === null) return new Response(null, { status: 403 });
    const { headers } = request;
    const encoding = headers.get("content-encoding");
    // RFC 8030, 5.2: a message without it must be refused
    if (encoding !== "aes128gcm" || !/^\d+$/.test(headers.get("ttl") ?? ""))
      return new Response(null, { status: 400 });
    const body = new Uint8Array(await request.arrayBuffer());
    const version = randomUUID();
    const code = new Promise<number>((resolve) => settle.set(version, resolve));
    deliveries.push({ headers, body, subject, code });
    channel.socket.send(
      JSON.stringify({
        messageType: "notification",
        channelID: channel.id,
        version,
        data: Buffer.from(body).toString("base64url"),
        headers: { encoding },
      }),
    );
    return new Response(null, { status: 201, headers: { location: `${PUSH_ORIGIN}/m/${version}` } });
  }
}

/**
 * Checks the signature (RFC 8292), and returns its subject.
 *
 * @throws for another key than that of the subscription, and where the signature is wrong
 */
async function signerOf({ headers }: Request, expected: string): Promise<string | undefined> {
  const [, token = "", key = ""] =
    /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(headers.get("authorization") ?? "") ?? [];
  if (key !== expected) throw new Error("the key is not that of the subscription");
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const signer = await importJWK({ kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" }, "ES256");
  await jwtVerify(token, signer, { audience: PUSH_ORIGIN });
  return decodeJwt(token).sub;
}
