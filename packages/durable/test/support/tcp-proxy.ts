import { connect, createServer, type Socket } from "node:net";

/** A network to a server that a test can cut and delay. */
export interface TCPProxy {
  readonly port: number;
  /** Cuts all connections, and refuses new connections until `restore`. */
  cut(): void;
  /** Cuts all connections. New connections work. */
  reset(): void;
  restore(): void;
  /** Delays all bytes in both directions until `release`. Connections stay open. */
  hold(): void;
  release(): void;
  /** Forwards new connections to another port. */
  forwardTo(port: number): void;
  /**
   * Cuts all connections at the next request that contains a text: before the server receives it, or before the client
   * receives the response. Resolves after the cut.
   */
  cutAt(when: "before" | "after", text: string): Promise<void>;
  close(): void;
}

/** A cut that waits for its request. */
interface PlannedCut {
  readonly when: "before" | "after";
  readonly text: string;
  readonly onCut: () => void;
}

/** Opens a network to a port of this machine. */
export async function openTCPProxy(port: number): Promise<TCPProxy> {
  const sockets = new Set<Socket>();
  let targetPort = port;
  let isCut = false;
  let isHeld = false;
  let planned: PlannedCut | undefined;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const target = connect(targetPort, "127.0.0.1");
    /** Called when the next response of the server is cut. */
    let onCutResponse: (() => void) | undefined;
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
      if (planned && bytes.includes(planned.text)) {
        const { when, onCut } = planned;
        planned = undefined;
        if (when === "before") {
          reset();
          return onCut();
        }
        onCutResponse = onCut;
      }
      target.write(bytes);
    });
    target.on("data", (bytes) => {
      if (!onCutResponse) return client.write(bytes);
      reset();
      return onCutResponse();
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
    restore() {
      isCut = false;
    },
    hold() {
      isHeld = true;
      for (const socket of sockets) socket.pause();
    },
    release() {
      isHeld = false;
      for (const socket of sockets) socket.resume();
    },
    forwardTo(nextPort) {
      targetPort = nextPort;
    },
    cutAt: (when, text) =>
      new Promise((resolve) => {
        planned = { when, text, onCut: resolve };
      }),
    close() {
      server.close();
      reset();
    },
  };

  function reset(): void {
    for (const socket of sockets) socket.destroy();
  }
}
