import { Agent, type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { build } from "vite";
import { startMiniflare } from "../packages/worker-proxy/test/support/miniflare.ts";

/*
 * The proxy in workerd beside a Worker that passes everything on and checks nothing, in turns, in one run: what is
 * added until the first byte, what is left of a stream's speed, how far the gateway gets ahead of a client that does
 * not read, and 200 streams at once.
 */

const bare = `export default { fetch(request, env) {
  const { pathname } = new URL(request.url);
  return fetch(env.GATEWAY + pathname, { method: "POST", headers: { authorization: "Bearer key",
    "content-type": "application/json" }, body: request.body, signal: request.signal });
} }`;
const proxied = `import { createProxy } from "@sluice/worker-proxy";
export default createProxy({
  baseURL: (env) => env.GATEWAY,
  apiKey: () => "a-key-for-the-bench-0123456789",
  secret: () => "a-secret-for-the-bench-0123456789abcdef",
  authenticate: (request) => request.headers.get("authorization") === "Bearer user" ? { id: "user" } : null,
  origins: ["https://app.example"],
  models: ["delta-5.3"],
});`;

const gateway = new Worker(new URL("./proxy-gateway.ts", import.meta.url));
let taken = 0;
const port = await new Promise<number>((resolve) =>
  gateway.on("message", (said) => {
    if (typeof said === "number") resolve(said);
    else taken = said.sent;
  }),
);
const workerOf = async (name: string, source: string) => ({
  name,
  modules: [{ type: "ESModule", path: `${name}.js`, contents: await bundled(source) }],
  compatibilityDate: "2026-10-01",
  compatibilityFlags: ["enable_request_signal"],
  bindings: { GATEWAY: `http://127.0.0.1:${port}` },
  unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
});
const workers = [await workerOf("bare", bare), await workerOf("proxy", proxied)];
const miniflare = startMiniflare({ workers });
await miniflare.ready;
const address = {
  bare: await miniflare.unsafeGetDirectURL("bare"),
  proxy: await miniflare.unsafeGetDirectURL("proxy"),
};
type Side = keyof typeof address;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

const firstByte = await inTurns(400, 40, (side) => ask(side, "short", "first"));
console.log(
  `time to the first byte      ${firstByte.bare.toFixed(2)} ms bare, ${firstByte.proxy.toFixed(2)} ms through the proxy`,
);
console.log(
  `  added                     ${(firstByte.proxy - firstByte.bare).toFixed(2)} ms (target: at most 1)`,
);
for (const prompt of ["a frame a write", "4 KB a write"]) {
  const whole = await inTurns(12, 3, (side) => ask(side, prompt, "last"));
  console.log(
    `20,000 frames, ${prompt.padEnd(13)}${whole.bare.toFixed(0)} ms bare, ${whole.proxy.toFixed(0)} ms through the proxy`,
  );
  console.log(
    `  speed                     ${(whole.bare / whole.proxy).toFixed(2)} of bare (target: at least 0.9)`,
  );
}
for (const side of ["bare", "proxy"] as const)
  console.log(`ahead of a paused client    ${await aheadOf(side)} MB of 200, ${side}`);
for (const side of ["bare", "proxy"] as const) {
  const all = await Promise.allSettled(Array.from({ length: 200 }, () => ask(side, "short", "last")));
  console.log(
    `200 streams at once         ${all.filter(({ status }) => status === "rejected").length} failed, ${side}`,
  );
}
agent.destroy();
await miniflare.dispose();
await gateway.terminate();

/** The medians of both sides, in milliseconds. */
async function inTurns(
  runs: number,
  warm: number,
  once: (side: Side) => Promise<number>,
): Promise<Record<Side, number>> {
  const times: Record<Side, number[]> = { bare: [], proxy: [] };
  for (let run = 0; run < runs; run += 1)
    for (const side of run % 2 ? (["bare", "proxy"] as const) : (["proxy", "bare"] as const)) {
      const ms = await once(side);
      if (run >= warm) times[side].push(ms);
    }
  const median = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
  return { bare: median(times.bare), proxy: median(times.proxy) };
}

/** How long a chat takes to its first or to its last byte. */
async function ask(side: Side, prompt: string, until: "first" | "last"): Promise<number> {
  const startedAt = performance.now();
  const response = await send(side, prompt);
  let firstAt = 0;
  let end = "";
  for await (const chunk of response) {
    firstAt ||= performance.now();
    end = String(chunk.subarray(-20));
  }
  if (!end.includes("[DONE]")) throw new Error(`${side}: not whole`);
  return (until === "first" ? firstAt : performance.now()) - startedAt;
}

function send(side: Side, prompt: string): Promise<IncomingMessage> {
  const body = JSON.stringify({
    model: "delta-5.3",
    stream: true,
    messages: [{ role: "user", content: prompt }],
  });
  const headers = { authorization: "Bearer user", "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const sent = request(new URL("/v1/chat/completions", address[side]), { method: "POST", headers, agent });
    sent.on("response", resolve).on("error", reject).end(body);
  });
}

/** What the gateway could send, in megabytes, while the client reads nothing: until it gets no further. */
async function aheadOf(side: Side): Promise<number> {
  taken = 0;
  const response = await send(side, "endless");
  response.pause();
  for (let before = -1; before !== taken; ) {
    before = taken;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  response.destroy();
  return taken;
}

async function bundled(source: string): Promise<string> {
  const entry = "entry.js";
  const built = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id.endsWith(entry) ? `\0${entry}` : null),
        load: (id) => (id === `\0${entry}` ? source : null),
      },
    ],
    resolve: {
      alias: { "@sluice/worker-proxy": createRequire(import.meta.url).resolve("@sluice/worker-proxy") },
    },
    build: { write: false, lib: { entry, formats: ["es"] } },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
