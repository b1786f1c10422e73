import { createECDH } from "node:crypto";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";
import { type Browser, browsers, withPage } from "./browsers.ts";
import type { Pages } from "./pages.ts";
import { type Delivery, PUSH_ORIGIN, startPushService } from "./push-service.ts";
import { bundleWorker, COMPATIBILITY_DATE, type Servers } from "./servers.ts";

/*
 * One push, from the end of a task to a notification: the Worker in workerd encrypts and signs it, and the browser
 * itself decrypts it and calls the service worker. Firefox alone can be led to another push service than its own.
 */

/** Preferences of Firefox: pushes by a service of this machine, and the permission for notifications. */
const preferencesFor = (service: string) => ({
  "dom.push.serverURL": service,
  "dom.push.testing.allowInsecureServerURL": true,
  "permissions.default.desktop-notification": 1,
  // without a network it would not connect to this machine, either
  "network.manage-offline-status": false,
});

/** The browser that is led to a push service of this machine. */
export const pushBrowser = browsers.find(({ name }) => name === "Firefox") as Browser;

/** Has a video made, and waits until the browser shows that it is ready. Returns what went wrong. */
export async function checkPush(
  folder: string,
  { gateway }: Servers,
  pages: Pages,
): Promise<string | undefined> {
  const service = await startPushService();
  const bindings = { GATEWAY_URL: gateway, PAGE_ORIGIN: pages.url, ...newVAPID() };
  const worker = await startWorker(folder, bindings, ({ url, method, headers, body }) => {
    // the Worker's own runner has a `Request` of its own, which `fetch` does not take
    const init = { method, headers: [...headers], body, duplex: "half" as const };
    const request = new Request(url, init);
    return url.startsWith(`${PUSH_ORIGIN}/`) ? service.take(request) : fetch(request);
  });
  try {
    copyFileSync(
      join(import.meta.dirname, "../../examples/minimal-chat/public/notifications.js"),
      join(folder, "notifications.js"),
    );
    void service.connected.then(() => writeFileSync(join(folder, "push-ready.txt"), ""));
    const baseURL = String(await worker.ready).replace(/\/$/, "");
    const address = `${pages.url}/built/push-page.html?${new URLSearchParams({ baseURL })}`;
    const work = async () => {
      const [result] = await pages.report();
      // the browser answers the push service at the end
      return result?.problem ?? (await problemOf(service.deliveries));
    };
    return await withPage(pushBrowser, address, work, preferencesFor(service.url));
  } finally {
    await worker.dispose();
    service.close();
  }
}

/** The Worker of the project in workerd. `outbound` gets all requests that it sends. */
async function startWorker(
  folder: string,
  bindings: Readonly<Record<string, string>>,
  outbound: (request: Request) => Promise<Response>,
) {
  const name = "push-worker";
  const at = join(folder, "workerd");
  await bundleWorker(folder, name, at);
  const objects = { VIDEO_WATCH: "VideoWatch", PUSH_SUBSCRIPTIONS: "PushSubscriptions" };
  return startMiniflare({
    host: "127.0.0.1",
    port: 0,
    workers: [
      {
        name,
        modules: [
          { type: "ESModule", path: "worker.js", contents: readFileSync(join(at, `${name}.js`), "utf8") },
        ],
        compatibilityDate: COMPATIBILITY_DATE,
        compatibilityFlags: ["enable_request_signal"],
        bindings,
        durableObjects: Object.fromEntries(
          Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true }]),
        ),
        outboundService: outbound,
      },
    ],
  });
}

/** Returns what is wrong with the one message that the service has passed on. */
async function problemOf(deliveries: readonly Delivery[]): Promise<string | undefined> {
  const [delivery] = deliveries;
  if (!delivery || deliveries.length > 1) return `the push service got ${deliveries.length} messages`;
  const { headers, body, subject, code } = delivery;
  const facts = { ttl: headers.get("ttl"), subject, code: await code };
  const isRight = facts.ttl === "86400" && subject === "mailto:ops@app.example" && facts.code === 100;
  if (!isRight) return `the message had ${JSON.stringify(facts)}`;
  if (Buffer.from(body).includes("video")) return "the message was not encrypted";
  return undefined;
}

/** Keys of a sender, as `npx web-push generate-vapid-keys` makes them. */
function newVAPID(): Readonly<Record<"VAPID_PUBLIC_KEY" | "VAPID_PRIVATE_KEY", string>> {
  const keys = createECDH("prime256v1");
  keys.generateKeys();
  return {
    VAPID_PUBLIC_KEY: keys.getPublicKey("base64url"),
    VAPID_PRIVATE_KEY: keys.getPrivateKey("base64url"),
  };
}
