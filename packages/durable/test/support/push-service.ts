/// <reference path="./http-ece.d.ts" />
import { createECDH, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decrypt } from "http_ece";
import { decodeJwt, importJWK, jwtVerify } from "jose";

/** A notice as a browser decrypts it. */
export interface ReceivedPush {
  /** The path of the subscription. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly notice: { readonly type: string; readonly id: string; readonly model?: string };
}

/**
 * A push service on a real socket, and browsers that subscribe to it. What is not signed and encrypted is refused; a
 * browser whose name begins with `gone` does not exist any more.
 */
export async function startPushService(publicKey: string) {
  const received: ReceivedPush[] = [];
  const browsers = new Map<string, ReturnType<typeof openBrowser>>();
  const statuses: number[] = [];
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const path = request.url ?? "";
    asked.push(path);
    const status = statuses.shift() ?? 201;
    try {
      if (path.startsWith("/gone")) throw 410;
      if (status !== 201) throw status;
      const browser = browsers.get(path);
      if (!browser) throw 404;
      await checkVAPID(request.headers.authorization ?? "", publicKey);
      const text = browser.decrypt(Buffer.concat(parts));
      received.push({ path, headers: request.headers, notice: JSON.parse(text) as ReceivedPush["notice"] });
      response.writeHead(201).end();
    } catch (error) {
      response.writeHead(typeof error === "number" ? error : 400, { location: "/elsewhere" }).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    /** The paths of all requests, also of those that were refused. */
    asked,
    /** Answers the next requests with these statuses. */
    answers: (...next: number[]) => void statuses.splice(0, statuses.length, ...next),
    /** A browser's subscription, as `PushSubscription.toJSON()` writes it. */
    subscribe(name: string) {
      const browser = openBrowser();
      browsers.set(`/${name}`, browser);
      return { endpoint: `https://fcm.googleapis.com/${name}`, expirationTime: null, keys: browser.keys };
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function openBrowser() {
  const privateKey = createECDH("prime256v1");
  privateKey.generateKeys();
  const authSecret = randomBytes(16);
  return {
    keys: {
      p256dh: privateKey.getPublicKey("base64url"),
      auth: authSecret.toString("base64url"),
    },
    decrypt: (body: Buffer) =>
      decrypt(body, {
        version: "aes128gcm",
        privateKey,
        authSecret: authSecret.toString("base64url"),
      }).toString(),
  };
}

/** Checks the signature as a push service does (RFC 8292). */
async function checkVAPID(authorization: string, publicKey: string): Promise<void> {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  if (key !== publicKey) throw 403;
  const point = Buffer.from(key, "base64url");
  const coordinate = (from: number) => point.subarray(from, from + 32).toString("base64url");
  const known = await importJWK({ kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(33) }, "ES256");
  await jwtVerify(token, known, { audience: "https://fcm.googleapis.com" });
  if (decodeJwt(token).sub !== "mailto:ops@app.example") throw 403;
}

/** Keys of a sender, as `npx web-push generate-vapid-keys` makes them. */
export function newVAPID() {
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  return { publicKey: keys.getPublicKey("base64url"), privateKey: keys.getPrivateKey("base64url") };
}
