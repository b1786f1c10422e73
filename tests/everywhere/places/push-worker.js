import { afterEnd, videoEvents, videoWatch } from "@sluice/durable";
import { webPush } from "@sluice/durable/push";
import { createProxy } from "@sluice/worker-proxy";
import { options } from "./proxy-options.js";

/* The proxy in a Worker that sends pushes, with no option for the push service. */

const push = webPush({
  subscriptions: (env) => env.PUSH_SUBSCRIPTIONS,
  vapid: (env) => ({
    publicKey: env.VAPID_PUBLIC_KEY,
    privateKey: env.VAPID_PRIVATE_KEY,
    subject: "mailto:ops@app.example",
  }),
});
export const { PushSubscriptions } = push;
export const VideoWatch = videoWatch({ ...options, onEnd: afterEnd([push]) });

const events = videoEvents((env) => env.VIDEO_WATCH, { startOn: "create" });
const proxy = createProxy({ ...options, extensions: [events, push] });

export default { fetch: (request, env, context) => proxy.fetch(request, env, context) };
