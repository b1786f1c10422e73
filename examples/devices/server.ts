import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { openObjects } from "@sluice/durable/node";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import proxy, { Conversations, StreamLog } from "./worker.ts";

const { PORT = "8790", DATA = "devices.db", GATEWAY_API_KEY = "sk-emulator" } = process.env;
// the gateway offline, where the environment names no other
const { GATEWAY_URL = (await serve(createEmulator({ apiKeys: [GATEWAY_API_KEY] }), { port: 0 })).url } =
  process.env;

const objects = openObjects({
  file: DATA,
  env: { GATEWAY_URL, GATEWAY_API_KEY, ORIGINS: `http://127.0.0.1:${PORT} http://localhost:${PORT}` },
  objects: { STREAM_LOG: StreamLog, CONVERSATIONS: Conversations },
});

/** Answers with what the proxy has, or with a file of the built page. */
async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname.startsWith("/v1/")) return await proxy.fetch(request, objects.env);
  const path = pathname === "/" ? "/index.html" : pathname;
  const file = await readFile(new URL(`dist${path}`, import.meta.url)).catch(() => undefined);
  if (!file) return new Response("not found", { status: 404 });
  const type = path.endsWith(".js") ? "text/javascript" : "text/html";
  return new Response(file, { headers: { "content-type": `${type}; charset=utf-8` } });
}

createServer(toNodeHandler(answer)).listen(Number(PORT), "127.0.0.1");
console.log(`One conversation on every device: http://127.0.0.1:${PORT}`);
