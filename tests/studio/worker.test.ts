import { expect, test } from "vitest";
import worker from "../../examples/studio/worker.ts";

/* The studio's Worker without its platform: what it offers with and without secrets. */

const env = { GATEWAY_URL: "http://127.0.0.1:9", GATEWAY_API_KEY: "sk-test", ORIGINS: "http://127.0.0.1" };
const { publicKey: point, privateKey: secret } = await crypto.subtle.generateKey(
  { name: "ECDSA", namedCurve: "P-256" },
  true,
  ["sign"],
);
const keys = {
  VAPID_PUBLIC_KEY: Buffer.from(await crypto.subtle.exportKey("raw", point)).toString("base64url"),
  VAPID_PRIVATE_KEY: (await crypto.subtle.exportKey("jwk", secret)).d,
};

/** Asks for the key of the pushes, as the page does before it subscribes. */
async function publicKey(secrets: object): Promise<unknown> {
  const request = new Request("http://127.0.0.1/v1/notifications");
  const context = { waitUntil: () => {}, passThroughOnException: () => {} };
  const response = await worker.fetch(request, { ...env, ...secrets } as never, context as never);
  return response.ok ? response.json() : response.status;
}

test("the Worker sends pushes with VAPID keys, and has no such path without them", async () => {
  expect(await publicKey(keys)).toEqual({ publicKey: keys.VAPID_PUBLIC_KEY });
  expect(await publicKey({})).toBe(404);
});
