import { once } from "node:events";
import { type AddressInfo, createServer, connect as open, type Socket } from "node:net";

/** A line between a browser and a server, which can be cut after so many bytes. */
export async function startCable() {
  let port = 0;
  let sent = 0;
  let cutAt = Number.POSITIVE_INFINITY;
  let cuts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = open(port, "127.0.0.1");
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    near.on("data", ({ length }: Buffer) => {
      sent += length;
      if (sent < cutAt) return;
      cutAt = Number.POSITIVE_INFINITY;
      cuts += 1;
      for (const socket of sockets) socket.destroy();
    });
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Leads to a server. */
    lead(to: URL) {
      port = Number(to.port);
    },
    /** Breaks all connections once, when so many further bytes have gone to the server. */
    cutAfter(bytes: number) {
      cutAt = sent + bytes;
    },
    /** The number of cuts. */
    cuts: () => cuts,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
