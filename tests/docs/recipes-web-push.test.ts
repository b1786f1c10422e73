import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type EndedTask, webhook } from "@sluice/durable";
import { importJWK, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { writeFilesOfPage } from "../support/page-files.ts";

/* The recipe of Web Push, between the proxy's signed webhook and a push service on a socket. */

const WEBHOOK_SECRET = `whsec_${Buffer.from("a secret of the app, 32 and more").toString("base64")}`;
const SERVICE = "https://fcm.googleapis.com";
const vapid = createECDH("prime256v1");
// a key that begins with a zero byte is printed shorter
do vapid.generateKeys();
while (vapid.getPrivateKey().length < 32);
const secrets = {
  WEBHOOK_SECRET,
  VAPID_PUBLIC_KEY: vapid.getPublicKey("base64url"),
  VAPID_PRIVATE_KEY: vapid.getPrivateKey("base64url"),
};
const logs = (["log", "warn", "error"] as const).map((name) => vi.spyOn(console, name));

/** What reached the push service. */
const received: { path: string; authorization: string; body: Buffer }[] = [];
let status = 201;
const service = createServer(async (request, response) => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { authorization = "", "content-encoding": encoding, ttl } = request.headers;
  expect([request.method, encoding, ttl]).toEqual(["POST", "aes128gcm", "86400"]);
  received.push({ path: request.url ?? "", authorization, body: Buffer.concat(parts) });
  response.writeHead(status, { location: "/elsewhere" }).end();
});

let app: { fetch(request: Request): Promise<Response> };

beforeAll(async () => {
  for (const [name, value] of Object.entries(secrets)) vi.stubEnv(name, value);
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  const send = globalThis.fetch;
  // a subscription has an address of Google; this machine responds in its place
  vi.stubGlobal("fetch", (address: string, init: RequestInit) =>
    send(address.replace(SERVICE, `http://127.0.0.1:${port}`), init),
  );
  const signIn = `export const findUser = async ({ headers }) => { const id = headers.get("cookie"); return id && { id }; };`;
  const files = writeFilesOfPage("docs/recipes/web-push.md", { "sign-in.ts": signIn });
  app = (await files<{ app: typeof app }>("push.ts")).app;
});
beforeEach(() => {
  received.length = 0;
  status = 201;
});
afterEach(() => {
  const text = JSON.stringify(logs.flatMap(({ mock }) => mock.calls));
  for (const secret of [WEBHOOK_SECRET, secrets.VAPID_PRIVATE_KEY, SERVICE])
    expect(text).not.toContain(secret);
});
afterAll(() => {
  service.close().closeAllConnections();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** A browser, as its page and its push service know it. */
function openBrowser(name: string) {
  const key = createECDH("prime256v1");
  const publicKey = key.generateKeys();
  const auth = randomBytes(16);
  const keys = { p256dh: publicKey.toString("base64url"), auth: auth.toString("base64url") };
  return {
    subscription: { endpoint: `${SERVICE}/${name}`, expirationTime: null, keys },
    /** Decrypts a message as a browser does (RFC 8291). */
    read(body: Buffer): unknown {
      const [salt, sender, cipher] = [body.subarray(0, 16), body.subarray(21, 86), body.subarray(86)];
      const derive = (secret: Buffer, salted: Buffer, info: Buffer | string, length: number) =>
        Buffer.from(hkdfSync("sha256", secret, salted, info, length));
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, sender]);
      const secret = derive(key.computeSecret(sender), auth, info, 32);
      const decipher = createDecipheriv(
        "aes-128-gcm",
        derive(secret, salt, "Content-Encoding: aes128gcm\0", 16),
        derive(secret, salt, "Content-Encoding: nonce\0", 12),
      );
      decipher.setAuthTag(cipher.subarray(-16));
      const text = Buffer.concat([decipher.update(cipher.subarray(0, -16)), decipher.final()]).toString();
      return JSON.parse(text.slice(0, -1)); // without the delimiter of the record
    },
  };
}

async function subscribe(user: string, subscription: object): Promise<number> {
  const body = JSON.stringify(subscription);
  const request = new Request("https://app.example.com/push", {
    method: "POST",
    body,
    headers: user ? { cookie: user } : {},
  });
  return (await app.fetch(request)).status;
}

/** Sends the proxy's webhook of a video that is ready. */
async function tell(userId: string, { isRemoved = false, secret = WEBHOOK_SECRET } = {}) {
  const ended: EndedTask = {
    ...{ id: "0123456789abcdef0123456789abcdef", taskId: "task-1", gatewayId: "t-1", userId },
    ...{ model: "beta3.0-video", state: "succeeded", task: {}, endedAt: Date.now(), isRemoved },
  };
  const hook = webhook({
    url: () => "https://app.example.com/hooks/video",
    secret: () => secret,
    fetch: (request) => app.fetch(request),
  });
  return await hook(ended, { env: {}, attempt: 1, signal: new AbortController().signal } as never);
}

test("a browser gets the notification of its user's video, signed and encrypted", async () => {
  const [ada, bob] = [openBrowser("ada"), openBrowser("bob")];
  expect(await subscribe("ada", ada.subscription)).toBe(204);
  expect(await subscribe("bob", bob.subscription)).toBe(204);
  expect(await tell("ada")).toEqual({ upstreamStatus: 204 });

  expect(received.map(({ path }) => path)).toEqual(["/ada"]);
  const [{ authorization, body } = { authorization: "", body: Buffer.alloc(0) }] = received;
  expect(body.toString("latin1")).not.toContain("task-1");
  expect(ada.read(body)).toEqual({ type: "video.succeeded", id: "task-1" });
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  expect(key).toBe(secrets.VAPID_PUBLIC_KEY);
  const coordinate = (from: number) => Buffer.from(key, "base64url").toString("base64url", from, from + 32);
  const known = await importJWK({ kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(33) }, "ES256");
  const { payload } = await jwtVerify(token, known, { audience: SERVICE });
  expect(payload.sub).toBe("mailto:ops@example.com");
});

test("a webhook that is not signed with the secret, and a video that its user has removed, send nothing", async () => {
  expect(await subscribe("cay", openBrowser("cay").subscription)).toBe(204);
  const secret = `whsec_${Buffer.from("another secret, of 32 and more letters").toString("base64")}`;
  await expect(tell("cay", { secret })).rejects.toThrow("401");
  expect(await tell("cay", { isRemoved: true })).toEqual({ upstreamStatus: 204 });
  expect(received).toEqual([]);
});

test("the proxy sends its webhook again while the push service is down, and a browser that is gone is forgotten", async () => {
  expect(await subscribe("dan", openBrowser("dan").subscription)).toBe(204);
  status = 503;
  await expect(tell("dan")).rejects.toThrow("503");
  status = 410;
  for (let nth = 0; nth < 2; nth += 1) expect(await tell("dan")).toEqual({ upstreamStatus: 204 });
  expect(received.map(({ path }) => path)).toEqual(["/dan", "/dan"]);
});

test("a redirect of a push service is not followed", async () => {
  expect(await subscribe("eve", openBrowser("eve").subscription)).toBe(204);
  status = 307;
  await tell("eve");
  expect(received.map(({ path }) => path)).toEqual(["/eve"]);
});

test("a browser belongs to the user who subscribed it last", async () => {
  const { subscription } = openBrowser("shared");
  expect(await subscribe("fay", subscription)).toBe(204);
  expect(await subscribe("gil", subscription)).toBe(204);
  await tell("fay");
  expect(received).toEqual([]);
});

test.each([
  ["http://fcm.googleapis.com/x"],
  ["https://127.0.0.1/x"],
  ["https://fcm.googleapis.com:8443/x"],
  ["https://fcm.googleapis.com.attacker.example/x"],
  ["https://notfcm.googleapis.com/x"],
  ["https://evilpush.apple.com/x"],
  ["https://127.0.0.1\\@fcm.googleapis.com/x"],
  [""],
])("a subscription at %j is refused", async (endpoint) => {
  expect(await subscribe("ada", { ...openBrowser("x").subscription, endpoint })).toBe(400);
});

test("a subscription of a stranger, and one with wrong keys, is refused", async () => {
  const { subscription } = openBrowser("x");
  expect(await subscribe("", subscription)).toBe(401);
  expect(await subscribe("ada", { ...subscription, keys: { p256dh: "short", auth: "short" } })).toBe(400);
});
