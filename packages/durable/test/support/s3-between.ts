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

/** A request as it came. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  /** The hash of its body. */
  readonly sha256: string;
}

/** A server before a bucket, which passes requests on until it is told of a fault for one. */
export async function startBetween(bucket: string) {
  const seen: Seen[] = [];
  const faults: ((request: Seen) => Fault | undefined)[] = [];
  const server = createServer((incoming, outgoing) => {
    take(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    /** Lets the next requests of a kind, `PUT` or `POST uploads`, meet faults: each the next one. */
    fail(kind: string, ...list: readonly Fault[]): void {
      const left = [...list];
      faults.push(({ method, url }) => {
        const [wanted, query = ""] = kind.split(" ");
        return method === wanted && url.includes(query) ? left.shift() : undefined;
      });
    },
    reset(): void {
      faults.length = 0;
      seen.length = 0;
    },
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = incoming;
    const body = Buffer.concat(await incoming.toArray());
    const now = { method, url, headers, sha256: createHash("sha256").update(body).digest("hex") };
    seen.push(now);
    let fault: Fault | undefined;
    for (const next of faults) fault ??= next(now);
    if (fault?.network === "silent") return;
    if (fault?.network === "refused") return void outgoing.destroy();
    if (fault?.status !== undefined)
      return void outgoing.writeHead(fault.status, { ...fault.headers }).end(fault.body);
    const passed = request(new URL(url, bucket), { method, headers }).end(body);
    const [response] = (await once(passed, "response")) as [IncomingMessage];
    if (fault?.network === "lost") {
      await response.toArray();
      return void outgoing.destroy();
    }
    outgoing.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(outgoing);
  }
}
