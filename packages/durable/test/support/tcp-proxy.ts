import { connect, createServer, type Socket } from "node:net";

/** A way to a server that a test can cut and hold up. */
export interface TCPProxy {
  readonly port: number;
  /** Cuts all connections as a network does, and takes no new ones until `join`. */
  cut(): void;
  /** Cuts them, and takes new ones at once. */
  reset(): void;
  join(): void;
  /** Lets nothing pass, in either direction, until it is told to go on; connections stay. */
  hold(): void;
  goOn(): void;
  /**
   * Cuts all connections when a request with this text comes: before the server has it, or once the server has responded
   * it. Resolves when that has happened.
   */
  cutAt(when: "before" | "after", text: string): Promise<void>;
  /** Cuts the next connection instead of passing this response of the server, counted from 0. */
  cutNext(nth: number): void;
  close(): void;
}

/** Opens a way to a port of this machine. */
export async function openTCPProxy(to: number): Promise<TCPProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHeld = false;
  /** Number of responses that the next connection gets; undefined for all. */
  let responseCount: number | undefined;
  let trap: { when: "before" | "after"; text: string; sprung: () => void } | undefined;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const target = connect(to, "127.0.0.1");
    let left = responseCount ?? Number.POSITIVE_INFINITY;
    responseCount = undefined;
    /** Called when the connection to the client is cut instead of passing the response. */
    let sprung: (() => void) | undefined;
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        target.destroy();
      });
      if (isHeld) socket.pause();
    }
    client.on("data", (bytes) => {
      if (trap && bytes.includes(trap.text)) {
        const { when, sprung: tell } = trap;
        trap = undefined;
        if (when === "before") {
          reset();
          return tell();
        }
        sprung = tell;
      }
      target.write(bytes);
    });
    target.on("data", (bytes) => {
      if (left === 0) return client.resetAndDestroy();
      left -= 1;
      if (!sprung) return client.write(bytes);
      reset();
      return sprung();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true;
      reset();
    },
    reset,
    join() {
      isCut = false;
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    goOn() {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    cutAt: (when, text) =>
      new Promise((resolve) => {
        trap = { when, text, sprung: resolve };
      }),
    cutNext(nth) {
      responseCount = nth;
    },
    close() {
      server.close();
      reset();
    },
  };

  function reset(): void {
    for (const socket of sockets) socket.destroy();
  }
}
