import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { serveMetrics } from "./metrics.ts";
import type { Env } from "./proxy.ts";
import { folder, host } from "./storage.ts";

const port = Number(process.env.PORT || 8787);
const address = process.env.HOST || "127.0.0.1";
/** Maximum wait for open responses when the server stops. Docker kills the process after 10 s. */
const drainMs = Number(process.env.DRAIN_MS || 8_000);

mkdirSync(folder, { recursive: true });
// prompts of users must not be committed
writeFileSync(join(folder, ".gitignore"), "*\n");
const env = process.env as unknown as Env;
// opens the database
const { respond } = await import("./respond.ts").catch(refuse);
const handle = toNodeHandler(serve);
const inFlight = new Set<ServerResponse>();
const server = createServer((incoming, outgoing) => {
  inFlight.add(outgoing);
  outgoing.once("close", () => inFlight.delete(outgoing));
  handle(incoming, outgoing);
});
// longer than the minute after which load balancers close an idle connection, so that the server never closes first
server.keepAliveTimeout = 65_000;
server.once("error", refuse);
server.listen(port, address, () => {
  const { port: taken } = server.address() as AddressInfo;
  console.log(`The server listens on http://${address}:${taken}/api`);
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);

function serve(request: Request): Response | Promise<Response> {
  const { pathname } = new URL(request.url);
  // for Docker and Kubernetes: the process is alive, even if the gateway is down
  if (pathname === "/live") return new Response("ok\n");
  if (pathname === "/metrics") return serveMetrics(request, env.METRICS_TOKEN);
  return respond(request, env);
}

/** Explains in one line why the server can't start: another process uses the port or the file. */
function refuse({ message }: Error): never {
  console.error(`The server can't start: ${message}`);
  process.exit(1);
}

/** Stops accepting requests, and exits when the open ones are done. A second signal exits at once. */
async function stop(): Promise<void> {
  const endsAt = Date.now() + drainMs;
  server.close();
  const ends = [...inFlight].map((outgoing) => once(outgoing, "close"));
  await Promise.race([Promise.all(ends), pause(drainMs, undefined, { ref: false })]);
  // then the streams that no client reads
  await host.close(Math.max(endsAt - Date.now(), 0));
  server.closeAllConnections();
}
