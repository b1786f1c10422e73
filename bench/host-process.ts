import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { budget, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";
import pg from "pg";

/*
 * One process of hosts.ts: the proxy with stored and metered responses, and its rows in a file or in Postgres. It sends its
 * port, and responds to each message with the number of queries that it has sent.
 */

const [gateway = "", target = "", schema = ""] = process.argv.slice(2);
let queries = 0;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function count(this: pg.Client, ...given: unknown[]) {
  queries += 1;
  return Reflect.apply(query, this, given);
} as typeof query;
const proxy = createProxy<unknown>({
  baseURL: gateway,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  limits: { maxStreamsPerUser: 1000 },
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["delta-5.3"],
  host: target.startsWith("postgres:") ? postgresHost({ url: target, schema }) : nodeHost({ file: target }),
  plugins: [
    budget({ limits: { user: 1e12 }, windowMs: 86_400_000, reserve: () => 1000 }),
    resumableStreams(),
  ],
});

const server = createServer((incoming, outgoing) => {
  serve(incoming, outgoing).catch(() => outgoing.destroy());
});
// a connection that is idle while the other hosts have their turn stays
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(queries)).on("disconnect", () => process.exit());

async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const client = new AbortController();
  outgoing.on("error", () => {}).once("close", () => client.abort());
  let body = "";
  for await (const piece of incoming.setEncoding("utf8")) body += piece;
  const { method = "GET", url = "/" } = incoming;
  const headers = incoming.headers as Record<string, string>;
  const init = { method, headers, signal: client.signal, body: body || null };
  const response = await proxy.fetch(new Request(`http://127.0.0.1${url}`, init));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const piece of response.body ?? []) outgoing.write(piece);
  outgoing.end();
}
