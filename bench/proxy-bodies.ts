import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { bundleAttacked } from "../packages/worker-proxy/test/support/bundle.ts";
import { startWorkerd } from "../packages/worker-proxy/test/support/workerd-process.ts";

/*
 * Measures bodies with many small values in workerd, with the heap of an isolate at Cloudflare, 128 MB. Compares the CPU
 * and the memory of the proxy with a Worker that only parses a body, serializes it and forwards it. Each body runs in a
 * separate process.
 */

const MB = 1024 * 1024;
const SIZE = 8 * MB;
const rewrite = `export default { async fetch(request, env) {
  const body = JSON.stringify(await request.json());
  return fetch(env.UPSTREAM, { method: "POST", body });
} }`;

const list = (piece: string) => {
  const values = Array(Math.floor((SIZE - 200) / (piece.length + 1))).fill(piece);
  return `{"model":"delta-5.3","messages":[${values.join(",")}]}`;
};
const distinctKeys = () => {
  let text = "";
  for (let nth = 0; text.length < SIZE - 200; nth += 1) text += `"k${nth}":0,`;
  return `{"model":"delta-5.3","messages":[{${text.slice(0, -1)}}]}`;
};
const image = () => {
  const url = `data:image/png;base64,iVBORw0KGgo${"A".repeat(SIZE * 0.6)}`;
  const content = [{ type: "image_url", image_url: { url } }];
  return JSON.stringify({ model: "alpha-v4.1-flash", messages: [{ role: "user", content }] });
};
const bodies: readonly (readonly [name: string, body: () => string])[] = [
  ["zeros", () => list("0")],
  ["empty objects", () => list("{}")],
  ["small trees", () => list('{"a":[[{"b":{}}]]}')],
  ["distinct keys", distinctKeys],
  // about as many values as a body may have
  ["60,000 messages", () => list(`{"role":"user","content":"${"a".repeat(SIZE / 60_000 - 40)}"}`)],
  [
    "a text",
    () =>
      JSON.stringify({ model: "delta-5.3", messages: [{ role: "user", content: "a".repeat(SIZE - 200) }] }),
  ],
  ["escaped letters", () => list('"\\u00e9\\u00e9\\u00e9"')],
  ["an image", image],
];

const gateway = createServer((request, response) => {
  request.resume().on("end", () => response.setHeader("content-type", "application/json").end('{"id":"1"}'));
});
gateway.listen(0, "127.0.0.1");
await once(gateway, "listening");
const UPSTREAM = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;
const proxy = {
  code: await bundleAttacked({ options: { limits: { maxBodyBytes: SIZE } } }),
  texts: { UPSTREAM, GATEWAY_API_KEY: "a-key-for-the-bench-0123456789" },
  objects: { SLUICE: "Sluice" },
};

console.log(`${SIZE / MB} MB of       | CPU parse+stringify / proxy, ratio | peak memory, ratio  | status`);
for (const [name, body] of bodies) {
  const sent = body();
  const plain = await measured({ code: rewrite, texts: { UPSTREAM } }, sent);
  const through = await measured(proxy, sent);
  const row = [
    name.padEnd(16),
    `${plain.cpuMs} / ${through.cpuMs} ms, ${ratio(through.cpuMs, plain.cpuMs)}`.padEnd(34),
    `${plain.peakMB} / ${through.peakMB} MB, ${ratio(through.peakMB, plain.peakMB)}`.padEnd(19),
    through.status,
  ];
  console.log(row.join(" | "));
}
console.log("targets: both ratios at most 2.00, and no process that ends");
gateway.close();

/** Measures one body in a separate process. Subtracts the cost of a small body. */
async function measured(program: Parameters<typeof startWorkerd>[0], body: string) {
  const worker = await startWorkerd({ ...program, heapMB: 128 });
  const post = (text: string) =>
    fetch(`http://127.0.0.1:${worker.port}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer ada", "content-type": "application/json" },
      body: text,
    })
      .then((response) => response.text().then(() => String(response.status)))
      .catch(() => "ended");
  await post('{"model":"delta-5.3","messages":[]}');
  const before = readCPUMs(worker.pid);
  const status = await post(body);
  const measures = worker.isAlive()
    ? { cpuMs: readCPUMs(worker.pid) - before, peakMB: readPeakMB(worker.pid), status }
    : { cpuMs: Number.NaN, peakMB: Number.NaN, status: "the process has ended" };
  await worker.close();
  return measures;
}

/** CPU time of all its threads so far. */
function readCPUMs(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8"));
  return Math.round(times.reduce((sum, time) => sum + Number.parseInt(time, 10), 0) / 1e6);
}

function readPeakMB(pid: number): number {
  const [, peak] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(peak) / 1024);
}

function ratio(one: number, other: number): string {
  return (one / other).toFixed(2);
}
