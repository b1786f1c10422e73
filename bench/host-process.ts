import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { budget, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { postgresHost } from "@sluice/durable/postgres";
import { createProxy } from "@sluice/worker-proxy";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import pg from "pg";

/*
 * A process of hosts.ts or attack.ts: the proxy with stored and metered responses, and its rows in a file or in Postgres.
 * It sends its port, and responds to each message with the number of queries that it has sent.
 */

const [gateway = "", target = "", schema = "", rate] = process.argv.slice(2);
/** Number of requests of each user in this second. */
const counts = new Map<string, number>();
setInterval(() => counts.clear(), 1000);
let queries = 0;
const { query } = pg.Client.prototype;
pg.Client.prototype.query = function count(this: pg.Client, ...given: unknown[]) {
  queries += 1;
  return Reflect.apply(query, this, given);
} as typeof query;
const proxy = createProxy<unknown>({
  baseURL: gateway,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  ...(!rate && { limits: { maxStreamsPerUser: 1000 } }),
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["delta-5.3"],
  ...(rate && { rateLimit: limitRate }),
  host: target.startsWith("postgres:") ? postgresHost({ url: target, schema }) : nodeHost({ file: target }),
  plugins: [
    budget({ limits: { user: 1e12 }, windowMs: 86_400_000, reserve: () => 1000 }),
    resumableStreams(),
  ],
});

const server = createServer(toNodeHandler((request) => proxy.fetch(request, {})));
// a connection that is idle while the other hosts have their turn stays
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", () => process.send?.(queries)).on("disconnect", () => process.exit());

function limitRate({ user: { id } }: { readonly user: { readonly id: string } }) {
  const count = (counts.get(id) ?? 0) + 1;
  counts.set(id, count);
  return count > Number(rate) ? { retryAfterMs: 1000 } : undefined;
}
