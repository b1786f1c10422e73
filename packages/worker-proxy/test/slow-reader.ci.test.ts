import { connect } from "node:net";
import { expect, test } from "vitest";
import { chat, startProxy } from "./support/harness.js";

test.each([
  ["passed on unread", {}],
  ["read", { chunkMs: 60_000 }],
])(
  "a client that does not read a stream %s stops the gateway, however much it has (case 42)",
  async (_, timeout) => {
    const slow = await startProxy({ options: { timeout } });
    const totalBytes = 200 * 1024 * 1024;
    const piece = `data: ${"x".repeat(64 * 1024)}\n\n`;
    let written = 0;
    let isBlocked = () => false;
    slow.upstream.respondWith((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      isBlocked = () => response.writableNeedDrain;
      const write = () => {
        while (written < totalBytes) {
          written += piece.length;
          if (!response.write(piece)) return;
        }
      };
      response.on("drain", write);
      write();
    });
    const socket = connect(Number(slow.url.port), slow.url.hostname);
    const request = JSON.stringify({ ...chat, stream: true });
    socket.write(
      [
        "POST /v1/chat/completions HTTP/1.1",
        `Host: ${slow.url.host}`,
        "Authorization: Bearer user-token",
        "Content-Type: application/json",
        `Content-Length: ${request.length}`,
        `\r\n${request}`,
      ].join("\r\n"),
    );
    await new Promise((resolve) => socket.once("data", resolve));
    socket.pause();
    // wait until the gateway's socket is blocked
    for (let before = -1; before !== written || !isBlocked(); ) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 400));
    }
    expect(written).toBeLessThan(32 * 1024 * 1024);

    // only the client was slow: the stream continues without an error
    const stopped = written;
    let lastText = "";
    await new Promise<void>((resolve) => {
      socket.setEncoding("latin1").on("data", (text: string) => {
        lastText = text.slice(-200);
        if (written > stopped + 4 * 1024 * 1024 || text.includes("event: error")) resolve();
      });
      socket.resume();
    });
    expect(lastText).not.toContain("event: error");
    socket.destroy();
    expect(await slow.upstream.requests[0]?.hungUp).toBe("hung up");
    await slow.close();
  },
);
