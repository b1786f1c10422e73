import type { Client } from "@sluice/core";
import { requestOnce } from "@sluice/core/internal";

const PATH = "/v1/notifications";

/** Returns true where this browser can receive pushes. */
export function isPushSupported(): boolean {
  return "serviceWorker" in navigator && "PushManager" in globalThis;
}

/**
 * Subscribes this browser, and stores the subscription at the proxy. Called again, it renews both.
 *
 * @returns false where the proxy has no Web Push
 * @throws the browser's error, or an `Error` with the proxy's status
 */
export async function subscribePush(client: Client, worker: string): Promise<boolean> {
  const offered = await requestOnce(client, PATH, {}, (answer) => answer.status !== 404 && json(answer));
  if (offered === false) return false;
  const { publicKey } = offered as { publicKey: string };
  await navigator.serviceWorker.register(worker);
  const { pushManager } = await navigator.serviceWorker.ready;
  const known = await pushManager.getSubscription();
  const isSame = known !== null && keyOf(known) === publicKey;
  // a subscription belongs to one sender's key
  if (!isSame) await known?.unsubscribe();
  const subscription = isSame
    ? known
    : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
  const { endpoint, keys } = subscription.toJSON();
  const body = JSON.stringify({ endpoint, keys });
  const init = { method: "POST", body, headers: { "content-type": "application/json" } };
  await requestOnce(client, PATH, init, json);
  return true;
}

/** Ends the subscription of this browser, here and at the proxy. */
export async function unsubscribePush(client: Client, worker: string): Promise<void> {
  const registration = await navigator.serviceWorker.getRegistration(worker);
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return;
  await subscription.unsubscribe();
  const path = `${PATH}/${await idOf(subscription.endpoint)}`;
  await requestOnce(client, path, { method: "DELETE" }, ({ body }) => body?.cancel());
}

function keyOf({ options }: PushSubscription): string {
  const bytes = new Uint8Array(options.applicationServerKey ?? []);
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Id of a subscription at the proxy: SHA-256 of its address, in hex. */
async function idOf(endpoint: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(endpoint));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function json(answer: Response): Promise<unknown> {
  if (answer.ok) return await answer.json();
  throw new Error(`the proxy refused the notifications with ${answer.status}; try again later`);
}
