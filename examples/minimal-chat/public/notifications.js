// The service worker of notifications: shows that a video or an answer has ended, and opens the page on a click.
// It receives pushes of the proxy (`webPush` of @sluice/durable/push) and keeps nothing.

const words = {
  "video.succeeded": "Your video is ready",
  "video.failed": "Your video failed",
  "video.expired": "Your video was not finished",
  "video.unknown": "Your video is not ready after a day",
  "turn.complete": "Your answer is ready",
};

self.addEventListener("push", (event) => {
  const { type = "", id, title, text } = event.data?.json() ?? {};
  const isTurn = type.startsWith("turn.");
  const shown = title ?? words[type] ?? (isTurn ? "Your answer has an error" : "Your video has changed");
  // the same tag twice is one notification
  const options = { tag: id, data: { path: "/" }, ...(text && { body: text }) };
  event.waitUntil(self.registration.showNotification(shown, options));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.path));
});

/** Shows the tab that is open, or opens one. */
async function open(path) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const [page] = pages;
  if (page) return await page.focus();
  return await self.clients.openWindow(path);
}
