import { Refusal } from "@sluice/worker-proxy/internal";
import { bytesOf } from "./base64.js";

/** The push services of the browsers: Chrome, Edge on Android and Samsung; Firefox; Safari; Edge. */
export const PUSH_SERVICES: readonly string[] = [
  "fcm.googleapis.com",
  "*.push.services.mozilla.com",
  "*.push.apple.com",
  "*.notify.windows.com",
];

/** A subscription of a browser, as `PushSubscription.toJSON()` writes it. */
export interface PushTarget {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/** An address in which all parsers find the same host. */
const PLAIN = /^https:\/\/[a-z\d.-]+\/[\x21-\x7e]*$/;
/** A point of P-256, uncompressed: 65 bytes that begin with 4. */
const POINT = /^B[\w-]{86}=?$/;
/** 16 bytes. */
const AUTH = /^[\w-]{22}(?:==)?$/;
const MOST_CHARACTERS = 1024;

/**
 * Returns true for an address of a listed push service. Lists of names alone keep a user from sending the proxy to
 * another host: a name that leads to a private network can't be told from its letters.
 */
export function isPushService(endpoint: string, services: readonly string[]): boolean {
  const url = endpoint.length <= MOST_CHARACTERS && PLAIN.test(endpoint) ? URL.parse(endpoint) : null;
  return (
    url !== null &&
    services.some((name) =>
      name.startsWith("*.") ? url.hostname.endsWith(name.slice(1)) : url.hostname === name,
    )
  );
}

/** @throws {Refusal} 400 `subscription_invalid` for what is no subscription, or leads elsewhere */
export async function checkedTarget(
  body: Readonly<Record<string, unknown>> | undefined,
  services: readonly string[],
): Promise<PushTarget> {
  const { endpoint, keys } = { ...body };
  const { p256dh, auth } = { ...(keys as Record<string, unknown> | undefined) };
  if (typeof endpoint !== "string" || !isPushService(endpoint, services))
    throw invalid("endpoint", "endpoint is no address of a push service that is listed");
  if (typeof p256dh !== "string" || !(await isPoint(p256dh)))
    throw invalid("keys.p256dh", "keys.p256dh is no point of the curve P-256");
  if (typeof auth !== "string" || !AUTH.test(auth)) throw invalid("keys.auth", "keys.auth is no secret");
  return { endpoint, keys: { p256dh, auth } };
}

/** Returns true for a public key. Nothing can be encrypted for a text that is none. */
export async function isPoint(text: string): Promise<boolean> {
  if (!POINT.test(text)) return false;
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const key = crypto.subtle.importKey("raw", bytesOf(text), curve, false, []);
  return await key.then(
    () => true,
    () => false,
  );
}

function invalid(param: string, message: string): Refusal {
  return new Refusal("said", { param, said: { status: 400, code: "subscription_invalid", message } });
}
