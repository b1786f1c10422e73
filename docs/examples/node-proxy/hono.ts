import { createServer } from "node:http";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { Hono } from "hono";
import { host, respond } from "./src/proxy.ts";

const app = new Hono();
app.all("/api/*", ({ req }) => respond(req.raw));
export const server = createServer(toNodeHandler((request) => app.fetch(request)));
server.listen(Number(process.env["PORT"] ?? 8787));
process.once("SIGTERM", async () => {
  server.close(); // no new connection
  await host.close(); // waits up to 10 s for open responses
  server.closeAllConnections();
});
