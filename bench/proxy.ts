import { readdirSync, readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { build } from "vite";
import { startMiniflare } from "../packages/worker-proxy/test/support/miniflare.ts";

/*
 * The proxy beside a Worker that passes everything on and checks nothing, each in a workerd of its own, in turns, in one
 * run: once where nothing has to be read of a stream, once where a meter has to read it. Ratios count: the machine's own
 * speed is in all of them.
 */

const bare = `export default { fetch(request, env) {
  const { pathname } = new URL(request.url);
  return fetch(env.GATEWAY + pathname, { method: "POST", headers: { authorization: "Bearer key",
    "content-type": "application/json" }, body: request.body, signal: request.signal });
} }`;
const proxyWith = (options: string) => `import { createProxy } from "@sluice/worker-proxy";
export default createProxy({
  baseURL: (env) => env.GATEWAY,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  secret: () => "a-secret-for-the-bench-0123456789abcdef",
  authenticate: (request) => request.headers.get("authorization") === "Bearer user" ? { id: "user" } : null,
  origins: ["https://app.example"],
  models: ["delta-5.3"],
  limits: { streamsPerUser: 1000 },
  ${options}
});`;
const sources = {
  bare,
  pumped: proxyWith(""),
  read: proxyWith("meter: { reserve: async () => ({ settle: async () => {}, release: async () => {} }) },"),
};
type Side = keyof typeof sources;
const sides = ["bare", "pumped", "read"] as const;
const proxies = ["pumped", "read"] as const;
/** What each side is to reach. */
const goals = {
  pumped: { speed: 0.9, cpu: 1.3, firstByte: 0.5 },
  read: { speed: 0.6, cpu: Number.NaN, firstByte: 0.5 },
};

const gateway = new Worker(new URL("./proxy-gateway.ts", import.meta.url));
let taken = 0;
const port = await new Promise<number>((resolve) =>
  gateway.on("message", (said) => {
    if (typeof said === "number") resolve(said);
    else taken = said.sent;
  }),
);
const running: Record<string, Awaited<ReturnType<typeof start>>> = {};
for (const side of sides) running[side] = await start(side);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const of = (side: Side) => running[side] as Awaited<ReturnType<typeof start>>;

const first = await inTurns(400, 40, (side) => ask(side, "short", "first"));
print(
  "first byte, ms",
  first,
  (side) => `+${(first[side] - first.bare).toFixed(2)} (goal +${goals[side].firstByte})`,
);

for (const prompt of ["a frame a write", "4 KB a write", "64 KB a write"]) {
  const whole = await inTurns(12, 3, (side) => ask(side, prompt, "last"));
  print(
    `20,000 frames, ${prompt}, ms`,
    whole,
    (side) => `${ratio(whole.bare, whole[side])} of bare's speed (goal ${goals[side].speed})`,
  );
}

const cpu = { bare: 0, pumped: 0, read: 0 };
const ROUNDS = 2;
for (let round = 0; round < ROUNDS; round += 1)
  for (const side of sides) {
    const before = of(side).cpuMs();
    await Promise.all(Array.from({ length: 200 }, () => ask(side, "paced", "last")));
    cpu[side] += (of(side).cpuMs() - before) / ROUNDS;
  }
print(
  "200 streams of 100 events in 5 s, CPU ms",
  cpu,
  (side) => `${ratio(cpu[side], cpu.bare)} × bare${goals[side].cpu ? ` (goal ${goals[side].cpu})` : ""}`,
);
const events = (side: Side) => cpu[side] / 20_000;
print(
  "  of it per event, CPU ms",
  { bare: events("bare"), pumped: events("pumped"), read: events("read") },
  () => "",
);
const rss = { bare: of("bare").rssMB(), pumped: of("pumped").rssMB(), read: of("read").rssMB() };
print("RSS, MB", rss, (side) => `${ratio(rss[side], rss.bare)} × bare`);

const single = { bare: 0, pumped: 0, read: 0 };
for (const side of sides) {
  const before = of(side).cpuMs();
  for (let n = 0; n < 1000; n += 1) await ask(side, "short", "last");
  single[side] = (of(side).cpuMs() - before) / 1000;
}
print(
  "a request of 20 events in 2 writes, CPU ms",
  single,
  (side) => `${ratio(single[side], single.bare)} × bare`,
);

for (const side of sides) console.log(`ahead of a paused client: ${await aheadOf(side)} MB of 200, ${side}`);
agent.destroy();
for (const side of sides) await of(side).miniflare.dispose();
await gateway.terminate();

function print(title: string, of: Record<Side, number>, note: (side: "pumped" | "read") => string): void {
  console.log(`${title.padEnd(44)}bare ${of.bare.toFixed(2)}`);
  for (const side of proxies) console.log(`${" ".repeat(44)}${side} ${of[side].toFixed(2)}  ${note(side)}`);
}

function ratio(one: number, other: number): string {
  return (one / other).toFixed(2);
}

/** One side in a workerd of its own, and what the system says of that process. */
async function start(side: Side) {
  const before = childrenOf(process.pid);
  const miniflare = startMiniflare({
    workers: [
      {
        name: side,
        modules: [{ type: "ESModule", path: "worker.js", contents: await bundled(sources[side]) }],
        compatibilityDate: "2026-10-01",
        compatibilityFlags: ["enable_request_signal"],
        bindings: { GATEWAY: `http://127.0.0.1:${port}` },
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
    ],
  });
  await miniflare.ready;
  const pid = childrenOf(process.pid).find(
    (child) => !before.includes(child) && readFileSync(`/proc/${child}/cmdline`, "utf8").includes("workerd"),
  );
  const stat = () => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return {
    miniflare,
    address: await miniflare.unsafeGetDirectURL(side),
    /** In user and system mode; the system counts in hundredths of a second. */
    cpuMs: () => (Number(stat()[11]) + Number(stat()[12])) * 10,
    rssMB: () => (Number(stat()[21]) * 4096) / 1024 / 1024,
  };
}

function childrenOf(pid: number): string[] {
  return readdirSync("/proc").filter((entry) => {
    if (!/^\d+$/.test(entry)) return false;
    try {
      return readFileSync(`/proc/${entry}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(pid);
    } catch {
      return false; // it has ended
    }
  });
}

/** The medians of all sides, in milliseconds. */
async function inTurns(
  runs: number,
  warm: number,
  once: (side: Side) => Promise<number>,
): Promise<Record<Side, number>> {
  const times: Record<Side, number[]> = { bare: [], pumped: [], read: [] };
  for (let run = 0; run < runs; run += 1)
    for (const at of sides.keys()) {
      const side = sides[(at + run) % sides.length] as Side;
      const ms = await once(side);
      if (run >= warm) times[side].push(ms);
    }
  const median = (all: number[]) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
  return { bare: median(times.bare), pumped: median(times.pumped), read: median(times.read) };
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
    const sent = request(new URL("/v1/chat/completions", of(side).address), {
      method: "POST",
      headers,
      agent,
    });
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
    build: {
      write: false,
      lib: { entry, formats: ["es"] },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  const [{ output } = { output: [] }] = built as { output: { code: string }[] }[];
  return output[0]?.code ?? "";
}
