import { budget, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createProxy } from "@sluice/worker-proxy";
import { env } from "./env.ts"; // the secrets of the process
import { type Env, options } from "./options.ts"; // the options of your proxy

export const host = nodeHost<Env>({ file: process.env["SQLITE_FILE"] ?? "sluice.db", env });
const proxy = createProxy<Env>({
  ...options,
  basePath: "/api",
  host,
  plugins: [budget<Env>({ limits: { user: 500_000 }, windowMs: 86_400_000 }), resumableStreams<Env>()],
});
export const respond = (request: Request) => proxy.fetch(request, env);
