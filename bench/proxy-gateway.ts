import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parentPort } from "node:worker_threads";
import { makeEvents, readsOf } from "./workload.ts";

/** A gateway in a thread of its own, so that what the client does costs it nothing. The prompt says what it streams. */
const answers: Record<string, readonly Uint8Array[]> = {
  "a frame a write": readsOf(makeEvents(20_000), "one frame"),
  "4 KB a write": readsOf(makeEvents(20_000), 4096),
  "64 KB a write": readsOf(makeEvents(20_000), 64 * 1024),
  short: readsOf(makeEvents(20), 4096),
};
const paced = readsOf(makeEvents(99), "one frame");
const megabyte = Buffer.from(`data: ${"x".repeat(1024 * 1024)}\n\n`);

const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (body.includes("endless")) return endless(response);
  if (body.includes("paced")) return drip(response);
  const [, writes = []] = Object.entries(answers).find(([prompt]) => body.includes(prompt)) ?? [];
  for (const bytes of writes)
    if (!response.write(bytes)) await new Promise((resolve) => response.once("drain", resolve));
  response.end();
});
server.listen(0, "127.0.0.1", () => parentPort?.postMessage((server.address() as AddressInfo).port));

/** 100 events, one each 50 ms, as a model writes. */
function drip(response: ServerResponse): void {
  let at = 0;
  const timer = setInterval(() => {
    response.write(paced[at++]);
    if (at < paced.length) return;
    clearInterval(timer);
    response.end();
  }, 50);
}

/** 200 MB; tells after each how many have been taken. */
async function endless(response: ServerResponse): Promise<void> {
  for (let sent = 1; sent <= 200; sent += 1) {
    if (!response.write(megabyte)) await new Promise((resolve) => response.once("drain", resolve));
    parentPort?.postMessage({ sent });
  }
  response.end();
}
