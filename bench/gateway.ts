import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { makeEvents, splitReads } from "./workload.ts";

/*
 * A gateway in a separate process, so that the work of the client does not slow it down. The address or the body of a
 * request selects the response. The process reports its port, and the megabytes read from an endless response.
 */

const events = makeEvents(20_000);
const responses: Record<string, readonly Uint8Array[]> = {
  "a-frame-a-write": splitReads(events, "one frame"),
  "4-KB-a-write": splitReads(events, 4096),
  "64-KB-a-write": splitReads(events, 64 * 1024),
  "100,000-frames": splitReads(makeEvents(100_000), 4096),
  short: splitReads(makeEvents(20), 4096),
};
const paced = splitReads(makeEvents(99), "one frame");
const megabyte = Buffer.from(`data: ${"x".repeat(1024 * 1024)}\n\n`);

const server = createServer(async (request, response) => {
  let prompt = request.url ?? "";
  for await (const chunk of request.setEncoding("utf8")) prompt += chunk;
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (prompt.includes("endless")) return endless(response);
  if (prompt.includes("paced")) return drip(response);
  // a response that lasts until the client disconnects: 20 frames of thinking, which some clients drop, and 20 of text
  if (prompt.includes("held")) return void response.write(Buffer.concat(paced.slice(0, 40)));
  const [, writes = []] = Object.entries(responses).find(([name]) => prompt.includes(name)) ?? [];
  for (const bytes of writes)
    if (!response.write(bytes)) await new Promise((resolve) => response.once("drain", resolve));
  response.end();
});
// keep idle connections open: a request on a connection that just closed would fail
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());

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
    process.send?.({ sent });
  }
  response.end();
}
