/* The service worker of an app, and a report of the notification that it asks for. A browser without a screen shows none. */

const { registration } = self;
const show = registration.showNotification.bind(registration);
let asked = "";
registration.showNotification = (title, options) => {
  asked = `${title}, ${options.tag}`;
  return show(title, options);
};

importScripts("/notifications.js");

// behind the listener of the app
self.addEventListener("push", (event) => event.waitUntil(report(event.data.json())));

async function report({ type, id, model }) {
  const isRight =
    type === "video.succeeded" && model === "beta3.0-video" && asked === `Your video is ready, ${id}`;
  const problem = `of ${type}, ${model}, ${id} the service worker showed: ${asked || "nothing"}`;
  const result = isRight ? { name: "push" } : { name: "push", problem };
  await fetch("/report", { method: "POST", body: JSON.stringify([result]) });
}
