import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { expect, onTestFinished, test } from "vitest";
import { createFile, firstBytes, openFileStore, PART_BYTES } from "./support/file-store.js";

/** Opens a file store in a Node server. */
async function openServer() {
  const { proxy, keys } = openFileStore();
  const served: Promise<Response>[] = [];
  const serve = (request: Request) => {
    const response = proxy.fetch(request, {});
    served.push(response);
    return response;
  };
  const server = createServer(toNodeHandler(serve));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  /** Resolves when no request uses the store any more. */
  const rest = () => Promise.allSettled(served);
  return { server, port, keys, rest, url: `http://127.0.0.1:${port}/api/v1/uploads` };
}

const bytes = { authorization: "user-1", "content-type": "application/octet-stream" };

test("a body refused while it arrives gets its response, and the server goes on (case 177)", async () => {
  const { url } = await openServer();
  for (const size of [100, 1000, 20_000, 3_000_000, 1000]) {
    const headers = { ...bytes, "upload-length": String(2 * PART_BYTES) };
    const response = await fetch(url, { method: "POST", headers, body: createFile(firstBytes.mp4, size) });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("part_size")]);
  }
});

test.each([1, 511, 513])(
  "a connection that breaks after %i bytes of a file leaves nothing in the bucket (case 121)",
  async (sent) => {
    const { server, port, keys, rest, url } = await openServer();
    const arrived = once(server, "request");
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const lines = Object.entries({ host: "127.0.0.1", ...bytes, "content-length": "100000" });
    const head = lines.map((line) => line.join(": ")).join("\r\n");
    socket.write(`POST /api/v1/uploads HTTP/1.1\r\n${head}\r\n\r\n`);
    socket.write(createFile(firstBytes.png, 600).slice(0, sent));
    await arrived;
    socket.destroy();
    const list = async () => await (await fetch(url, { headers: bytes })).json();
    await expect.poll(list).toEqual({ files: [] });
    await rest();
    expect(keys()).toEqual([]);
  },
);
