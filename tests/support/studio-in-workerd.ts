import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { bundle } from "../../packages/worker-proxy/test/support/bundle.ts";
import { type Miniflare, startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";

const KEY = "sk-studio-in-workerd";
const root = fileURLToPath(new URL("../..", import.meta.url));

/** The built page and its Worker in workerd, in front of the emulator. Worker and gateway restart at their addresses. */
export async function startStudioInWorkerd(options: EmulatorOptions) {
  const emulator = createEmulator({ apiKeys: [KEY], cors: true, ...options });
  let gateway = await listen((port) => serve(emulator, { port }));
  const getGatewayPort = () => Number(new URL(gateway.url).port);
  let dead: Server | undefined;
  const folder = await mkdtemp(join(tmpdir(), "sluice-studio-"));
  const code = await bundle("../examples/studio/worker.ts");
  const createOptions = (port: number) => ({
    host: "127.0.0.1",
    port,
    resourcePersistencePath: folder,
    workers: [
      {
        name: "studio",
        modules: [{ type: "ESModule", path: "worker.js", contents: code }],
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["enable_request_signal"],
        assets: { directory: `${root}examples/studio/dist`, routerConfig: { has_user_worker: true } },
        bindings: {
          GATEWAY_URL: gateway.url,
          GATEWAY_API_KEY: KEY,
          FILES_SECRET: "a-secret-of-the-files-of-the-studio-0123456789",
          ORIGINS: `http://127.0.0.1:${port}`,
        },
        r2Buckets: ["MEDIA"],
        durableObjects: Object.fromEntries(
          Object.entries(objects).map(([name, className]) => [name, { className, useSQLite: true }]),
        ),
      },
    ],
  });
  const startWorker = async (port: number) => {
    const started = startMiniflare(createOptions(port));
    await started.ready;
    return started;
  };
  let port = 0;
  let worker: Miniflare | undefined = await listen((free) => {
    port = free;
    return startWorker(free);
  });
  return {
    address: `http://127.0.0.1:${port}`,
    emulator,
    /** Requests that the gateway bills. */
    billed: () => emulator.requests.filter(({ method }) => method === "POST"),
    async killWorker() {
      await worker?.dispose();
      worker = undefined;
    },
    async restartWorker() {
      worker = await startWorker(port);
    },
    /** Breaks all connections to the gateway from now on. Returns a function that counts them. */
    async stopGateway() {
      await gateway.close();
      let refusals = 0;
      dead = createServer((socket) => {
        refusals += 1;
        socket.destroy();
      });
      dead.listen(getGatewayPort(), "127.0.0.1");
      await once(dead, "listening");
      return () => refusals;
    },
    async restartGateway() {
      dead?.close();
      gateway = await serve(emulator, { port: getGatewayPort() });
    },
    async close() {
      dead?.close();
      await Promise.all([worker?.dispose(), gateway.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const objects = { SLUICE: "Sluice" };

let next = 30_000 + (process.pid % 250) * 8;

/** Starts a server on a port below the ephemeral range, so that no other process uses the port during a restart. */
async function listen<Started>(start: (port: number) => Promise<Started>): Promise<Started> {
  for (let tries = 0; tries < 8; tries += 1) {
    const server = await start(next++).catch(() => undefined);
    if (server) return server;
  }
  throw new Error("no port is free");
}
