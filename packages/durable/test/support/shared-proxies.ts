import { postgresHost } from "@sluice/durable/postgres";
import { createProxy, type JobEvent, type ProxyEvent, type ProxyOptions } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { createSharedPlugins, RESERVED, sharedOptions } from "../fixture/shared-plugins.js";
import type { PostgresServer } from "./postgres-server.js";
import { openTCPProxy } from "./tcp-proxy.js";

/*
 * Proxies on one Postgres, each like a separate process: a test can cut the network of each proxy.
 */

export { RESERVED, sharedOptions };

interface Given extends Partial<ProxyOptions<unknown>> {
  readonly server: PostgresServer;
  readonly schema: string;
}

/** A proxy with its network to the database. */
export type SharedProxy = Awaited<ReturnType<typeof openSharedProxy>>;

/** Opens a proxy as another process has it. */
export async function openSharedProxy({ server, schema, ...options }: Given) {
  const network = await openTCPProxy(server.port);
  const url = server.url.replace(`:${server.port}/`, `:${network.port}/`);
  const host = postgresHost({ url, schema, env: {} });
  const jobs: JobEvent[] = [];
  const proxy = createProxy<unknown>({
    ...sharedOptions,
    host,
    ...options,
    plugins: [
      ...(options.plugins ?? createSharedPlugins()),
      definePlugin({
        onEvent(event: ProxyEvent) {
          if (event.type !== "request") jobs.push(event);
        },
      }),
    ],
  });
  const send = async (user: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: user, "content-type": "application/json", ...init.headers };
    const request = new Request(`https://proxy.example${path}`, { ...init, headers });
    return await proxy.fetch(request, {});
  };
  const post = (user: string, path: string, body: object, key?: string) =>
    send(user, path, {
      method: "POST",
      body: JSON.stringify(body),
      ...(key !== undefined && { headers: { "idempotency-key": key } }),
    });
  return {
    network,
    jobs,
    send,
    chat: (user: string, text: string, { key, stream = false }: { key?: string; stream?: boolean } = {}) =>
      post(
        user,
        "/v1/chat/completions",
        { model: "delta-5.3", stream, messages: [{ role: "user", content: text }] },
        key,
      ),
    image: (user: string, prompt: string, key: string) =>
      post(user, "/v1/images/generations", { model: "gamma-image-5-0-260128", prompt }, key),
    async readBudget(user: string) {
      const response = await send(user, "/v1/budget");
      const { budgets } = (await response.json()) as { budgets: [BudgetSums] };
      return budgets[0];
    },
    async close() {
      network.restore();
      network.release();
      await host.close(0);
      network.close();
    },
  };
}

interface BudgetSums {
  readonly spent: number;
  readonly reserved: number;
  readonly resetsAt: number;
}
