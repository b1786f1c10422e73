import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";

const PACKET = 1500;

/** A page or script of the bench's own, by its path. */
export type OwnFiles = Readonly<Record<string, { readonly type: string; readonly body: string }>>;

/** A server of this machine. */
export interface Site {
  readonly address: string;
  readonly close: () => void;
}

/** A slow line. All responses share it, also those to a Service Worker, which Chromium can't slow down. */
interface Line {
  readonly bytesPerSecond: number;
  readonly latencyMs: number;
}

/** Serves the files of `origin` and the bench's own, compressed, as a real host does. */
export async function serveCompressed(origin: string, own: OwnFiles, line?: Line): Promise<Site> {
  let freeAt = 0;
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}`, close: () => void server.close() };

  async function respond({ url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
    const file = own[url];
    const original = file
      ? new Response(file.body, { headers: { "content-type": file.type } })
      : await fetch(origin + url);
    const body = Buffer.from(await original.arrayBuffer());
    const type = original.headers.get("content-type") ?? "";
    const isText = /text|javascript|svg|json/.test(type);
    response.writeHead(original.status, {
      "content-type": type,
      ...(isText && { "content-encoding": "gzip" }),
    });
    const sent = isText ? gzipSync(body) : body;
    if (line) await sendSlowly(sent, response, line);
    response.end(line ? undefined : sent);
  }

  /** Sends packets alternately with the packets of other responses. */
  async function sendSlowly(bytes: Buffer, response: ServerResponse, { bytesPerSecond, latencyMs }: Line) {
    await setTimeout(latencyMs);
    for (let start = 0; start < bytes.length; start += PACKET) {
      const packet = bytes.subarray(start, start + PACKET);
      freeAt = Math.max(freeAt, Date.now()) + (1000 * packet.length) / bytesPerSecond;
      await setTimeout(freeAt - Date.now());
      response.write(packet);
    }
  }
}
