import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Budget, budget, type ObjectNamespace, streamLog, streamLogObject } from "@sluice/durable";
import { openObjects as openFile } from "@sluice/durable/node";
import { openObjects as openPostgres } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";

/*
 * One process of hosts.ts: the proxy with kept and metered answers, and its objects in a file or in Postgres. It sends its
 * port, and answers each message with the queries that it has made.
 */

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
}

const [gateway = "", place = "", schema = ""] = process.argv.slice(2);
let queries = 0;
const meter = budget<Env>({
  namespace: (env) => env.BUDGET,
  limits: { user: 1e12 },
  windowMs: 86_400_000,
  reserveFor: () => 1000,
});
const options = {
  baseURL: gateway,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  limits: { maxStreamsPerUser: 1000 },
};
const namespace = (env: Env) => env.STREAM_LOG;
const objects = { BUDGET: Budget, STREAM_LOG: streamLogObject<Env>({ ...options, meter, namespace }) };
const debug = () => {
  queries += 1;
};
const { env } = place.startsWith("postgres:")
  ? await openPostgres({ url: place, schema, connection: { debug }, env: {}, objects })
  : openFile({ file: place, env: {}, objects });
const proxy = createProxy<Env>({
  ...options,
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["delta-5.3"],
  plugins: [meter, streamLog(namespace)],
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
  const response = await proxy.fetch(new Request(`http://127.0.0.1${url}`, init), env);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const piece of response.body ?? []) outgoing.write(piece);
  outgoing.end();
}
