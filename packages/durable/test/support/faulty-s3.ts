import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A response instead of the bucket's, or a fault of the network. */
export interface Fault {
  readonly status?: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** `refused`: nothing reaches the bucket; `lost`: its response is lost; `silent`: nothing happens. */
  readonly network?: "refused" | "lost" | "silent";
}

/** A request of the bucket's client. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** The hash of its body. */
  readonly sha256: string;
}

/** Starts a server before a bucket. The server forwards each request, or plays the next fault of its kind. */
export async function startFaultyS3(bucket: string) {
  const requests: ReceivedRequest[] = [];
  const faults: ((request: ReceivedRequest) => Fault | undefined)[] = [];
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    /** Plays one fault for each of the next requests of a kind: a method and a part of the URL, `POST uploads`. */
    fail(kind: string, ...list: readonly Fault[]): void {
      const [kindMethod, urlPart = ""] = kind.split(" ");
      const remaining = [...list];
      faults.push(({ method, url }) =>
        method === kindMethod && url.includes(urlPart) ? remaining.shift() : undefined,
      );
    },
    reset(): void {
      faults.length = 0;
      requests.length = 0;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const received = { method, url, headers, sha256: createHash("sha256").update(body).digest("hex") };
    requests.push(received);
    let fault: Fault | undefined;
    for (const findFault of faults) fault ??= findFault(received);
    if (fault?.network === "silent") return;
    if (fault?.network === "refused") return void outgoing.destroy();
    if (fault?.status !== undefined)
      return void outgoing.writeHead(fault.status, { ...fault.headers }).end(fault.body);
    const forwarded = request(new URL(url, bucket), { method, headers }).end(body);
    const [response] = (await once(forwarded, "response")) as [IncomingMessage];
    if (fault?.network === "lost") {
      await response.toArray();
      return void outgoing.destroy();
    }
    outgoing.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(outgoing);
  }
}
