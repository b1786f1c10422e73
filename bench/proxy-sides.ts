import { readdirSync, readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { build } from "vite";
import { startMiniflare } from "../packages/worker-proxy/test/support/miniflare.ts";

/*
 * Compares the proxy with a Worker that forwards every request unchecked. Each runs in a separate workerd process.
 */

const bare = `export default { fetch(request, env) {
  const { pathname } = new URL(request.url);
  return fetch(env.GATEWAY + pathname, { method: "POST", headers: { authorization: "Bearer key",
    "content-type": "application/json" }, body: request.body, signal: request.signal });
} }`;
const proxyWith = (options: string) => `import { createProxy, readStreams } from "@sluice/worker-proxy";
export default createProxy({
  baseURL: (env) => env.GATEWAY,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  secret: () => "a-secret-for-the-bench-0123456789abcdef",
  authenticate: (request) => request.headers.get("authorization") === "Bearer user" ? { id: "user" } : null,
  origins: ["https://app.example"],
  models: ["delta-5.3"],
  limits: { maxStreamsPerUser: 1000 },
  ${options}
});`;
export const sources = {
  bare,
  pumped: proxyWith(""),
  read: proxyWith("plugins: [readStreams()],"),
};
export type SideName = keyof typeof sources;

/** A Worker that runs. */
export interface Side {
  readonly address: URL;
  /** In user and system mode; the system counts in hundredths of a second. */
  readonly cpuMs: () => number;
  readonly rssMB: () => number;
  readonly close: () => Promise<void>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/** Starts one side in a separate workerd process, and counts the resources of that process. */
export async function start(side: SideName, gateway: string): Promise<Side> {
  return await startWorker({ name: side, source: sources[side], gateway });
}

/** A Worker to start. */
interface Program {
  readonly name: string;
  readonly source: string;
  readonly gateway: string;
  /** Bindings to Durable Objects, with the names of their classes. */
  readonly objects?: Readonly<Record<string, string>>;
}

/** Starts a Worker in a separate workerd process, and counts the resources of that process. */
export async function startWorker({ name, source, gateway, objects = {} }: Program): Promise<Side> {
  const before = listChildren(process.pid);
  const miniflare = startMiniflare({
    workers: [
      {
        name,
        modules: [{ type: "ESModule", path: "worker.js", contents: await bundled(source) }],
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["enable_request_signal"],
        bindings: { GATEWAY: gateway },
        durableObjects: Object.fromEntries(
          Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true }]),
        ),
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
    ],
  });
  await miniflare.ready;
  const pid = listChildren(process.pid).find(
    (child) => !before.includes(child) && readFileSync(`/proc/${child}/cmdline`, "utf8").includes("workerd"),
  );
  const stat = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return {
    address: await miniflare.unsafeGetDirectURL(name),
    cpuMs: () => (Number(stat()[11]) + Number(stat()[12])) * 10,
    rssMB: () => (Number(stat()[21]) * 4096) / 1024 / 1024,
    close: () => miniflare.dispose(),
  };
}

function listChildren(pid: number): string[] {
  return readdirSync("/proc").filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(pid);
    } catch {
      return false; // it has ended
    }
  });
}

/** Sends a chat, and returns the milliseconds to its first or to its last byte. */
export async function sendRequest(side: Side, prompt: string, until: "first" | "last"): Promise<number> {
  const startedAt = performance.now();
  const response = await send(side, prompt);
  let firstAt = 0;
  let end = "";
  for await (const chunk of response) {
    firstAt ||= performance.now();
    end = String(chunk.subarray(-200));
  }
  // a gateway that is late by two seconds with its last line is not waited for
  if (!/\[DONE\]|"finish_reason":"stop"/.test(end)) throw new Error(`the response is not whole: ${end}`);
  return (until === "first" ? firstAt : performance.now()) - startedAt;
}

export function send(side: Side, prompt: string): Promise<IncomingMessage> {
  const body = JSON.stringify({
    model: "delta-5.3",
    stream: true,
    messages: [{ role: "user", content: prompt }],
  });
  const headers = { authorization: "Bearer user", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(new URL("/v1/chat/completions", side.address), {
      method: "POST",
      headers,
      agent,
    });
    sent.on("response", resolve).on("error", reject).end(body);
  });
}

async function bundled(source: string): Promise<string> {
  const entry = "entry.js";
  const built = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        // the entry is not a file, so resolve its packages from this file
        resolveId(id) {
          if (id.endsWith(entry)) return `\0${entry}`;
          return id.startsWith("@sluice/") ? createRequire(import.meta.url).resolve(id) : null;
        },
        load: (id) => (id === `\0${entry}` ? source : null),
      },
    ],
    build: {
      write: false,
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
