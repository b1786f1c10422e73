import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, startAttacked, stream, streamPlans } from "./support/attacked.js";
import { createPiece, done, type RawResponse, stopped, streamed, streamHead } from "./support/raw-gateway.js";

type Proxy = Awaited<ReturnType<typeof startAttacked>>;

describe.each(streamPlans)("a stream %s", (_, plan) => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startAttacked({ plan });
  });
  afterAll(() => proxy.close());

  // at quadratic cost it would take minutes
  test("arrives whole with 150,000 data lines in one event, or 700,000 where it is not stored (case 68)", async () => {
    // an event of more than 1.5 MB is not stored
    const lines = "resumable" in plan ? 150_000 : 700_000;
    const event = `data: {"choices":[],"a":[\n${"data: 0,\n".repeat(lines)}data: 0]}\n\n`;
    const response = streamHead + event + createPiece("one") + stopped() + done;
    proxy.upstream.respondWith((socket) => {
      const next = (at: number) => {
        if (at >= response.length) return void socket.end();
        socket.write(response.slice(at, at + 16_384), () => next(at + 16_384));
      };
      next(0);
    });
    const { text } = await proxy.call("ada", stream);
    expect(text).not.toContain("event: error");
    expect(text).toMatch(/\[DONE\]\n\n$/);
    expect(text.length).toBeGreaterThan(event.length);
  });
});

describe("clients that read nothing (case 58)", () => {
  let proxy: Proxy;
  const clients: Socket[] = [];
  afterAll(() => {
    for (const client of clients) client.destroy();
    return proxy.close();
  });

  /** Opens a stream over a socket, reads its head, and then nothing more. */
  async function openStalled(user: string): Promise<string> {
    const socket = connect(proxy.port, "127.0.0.1");
    clients.push(socket);
    socket.on("error", () => {});
    const body = JSON.stringify(stream);
    socket.write(
      `POST ${CHATS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${user}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const head = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    socket.pause();
    return head.toString("latin1").slice(0, 12);
  }

  /** Writes until the connection's buffer is full. */
  const endless: RawResponse = (socket) => {
    const piece = createPiece("x".repeat(64 * 1024));
    const write = () => {
      while (socket.write(piece));
    };
    socket.on("drain", write).write(streamHead);
    write();
  };

  test("lose their streams after `chunkMs`, and the gateway's connections are closed", async () => {
    proxy = await startAttacked({ chunkMs: 300 });
    proxy.upstream.respondWith(endless);
    for (let nth = 0; nth < 5; nth += 1) expect(await openStalled(`user-${nth}`)).toBe("HTTP/1.1 200");
    await Promise.all(proxy.upstream.requests.map(({ closed }) => closed));
    expect(proxy.upstream.open()).toBe(0);
  });

  test("have `maxStreamsPerUser` streams, and may open others after they leave", async () => {
    await proxy.close();
    proxy = await startAttacked({ options: { limits: { maxStreamsPerUser: 2 } } });
    proxy.upstream.respondWith(endless);
    expect(await openStalled("ada")).toBe("HTTP/1.1 200");
    expect(await openStalled("ada")).toBe("HTTP/1.1 200");
    expect((await proxy.call("ada", stream)).status).toBe(429);
    expect(await openStalled("bob")).toBe("HTTP/1.1 200");
    for (const client of clients.splice(0)) client.destroy();
    await Promise.all(proxy.upstream.requests.map(({ closed }) => closed));
    proxy.upstream.respondWith(streamed(createPiece("one"), stopped(), done));
    expect((await proxy.call("ada", stream)).text).toContain("[DONE]");
  });
});
