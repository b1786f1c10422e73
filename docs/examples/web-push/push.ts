import { Hono } from "hono";
import { Webhook } from "standardwebhooks";
import webPush, { type PushSubscription } from "web-push";
import { findUser } from "./sign-in.ts"; // yours: the user as { id }, or null

const { WEBHOOK_SECRET = "", VAPID_PUBLIC_KEY = "", VAPID_PRIVATE_KEY = "" } = process.env;
webPush.setVapidDetails("mailto:ops@example.com", VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY);
/** The push services of Chrome, Firefox, Safari and Edge. The server must send to no other address. */
const SERVICES = /^fcm\.googleapis\.com$|\.(?:push\.services\.mozilla|push\.apple|notify\.windows)\.com$/;
/** The user and the subscription of each browser, by its address. Yours: a table of your database. */
const browsers = new Map<string, { user: string; subscription: PushSubscription }>();

/** Signs and encrypts a notification for one browser. Throws where the keys of the browser are wrong. */
const encrypt = (subscription: PushSubscription, notification: object) =>
  webPush.generateRequestDetails(subscription, JSON.stringify(notification), { TTL: 86_400 });

async function send(subscription: PushSubscription, notification: object): Promise<boolean> {
  const { endpoint, headers, body } = encrypt(subscription, notification);
  const init = { method: "POST", headers: headers as Record<string, string>, redirect: "manual" } as const;
  const { status } = await fetch(endpoint, { ...init, body: new Uint8Array(body ?? []) });
  if (status === 404 || status === 410) browsers.delete(endpoint); // the browser has unsubscribed
  return status < 500 && status !== 429;
}

export const app = new Hono();
app.post("/push", async (c) => {
  const user = await findUser(c.req.raw);
  if (!user) return c.body(null, 401);
  try {
    const subscription = await c.req.json<PushSubscription>();
    encrypt(subscription, {});
    const { protocol, host } = new URL(subscription.endpoint);
    if (protocol !== "https:" || !SERVICES.test(host)) return c.body(null, 400);
    browsers.set(subscription.endpoint, { user: user.id, subscription });
  } catch {
    return c.body(null, 400);
  }
  return c.body(null, 204);
});
app.post("/hooks/video", async (c) => {
  const text = await c.req.text();
  try {
    new Webhook(WEBHOOK_SECRET).verify(text, c.req.header());
  } catch {
    return c.body(null, 401);
  }
  const { type, data } = JSON.parse(text) as { type: string; data: Record<string, string> };
  const own = [...browsers.values()].filter(({ user }) => user === data["user"] && !data["removed"]);
  const sent = own.map(({ subscription }) => send(subscription, { type, id: data["id"] }).catch(() => false));
  // after a 503 the proxy sends the webhook again
  return c.body(null, (await Promise.all(sent)).every(Boolean) ? 204 : 503);
});
