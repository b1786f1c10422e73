import { createServer } from "node:http";
import { createProxy, events } from "@sluice/worker-proxy";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { env } from "./env.ts"; // the secrets of the process
import { countEvents, serveMetrics } from "./metrics.ts";
import { options } from "./options.ts"; // the options of your proxy

const proxy = createProxy({
  ...options,
  plugins: [events(countEvents(["delta-5.3"]))],
});

export const server = createServer(
  toNodeHandler((request) =>
    new URL(request.url).pathname === "/metrics"
      ? serveMetrics(request, process.env["METRICS_TOKEN"])
      : proxy.fetch(request, env),
  ),
).listen(process.env["PORT"] ?? 8787);
