/**
 * Writes the source of a Worker whose proxy stores and meters responses. Each value of `authorization` is a user.
 *
 * @param option one more option of the proxy
 * @param statements statements before the proxy, which the option needs
 */
export const writeStoredWorker = (
  option: string,
  statements = "",
) => `import { createProxy } from "@sluice/worker-proxy";
import { budget, resumableStreams } from "@sluice/durable";
import { cloudflareHost, durableObject } from "@sluice/durable/cloudflare";
${statements}
const proxy = createProxy({
  baseURL: (env) => env.GATEWAY,
  apiKey: () => "sk-a-key-for-the-bench-0123456789",
  ${option},
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["delta-5.3"],
  host: cloudflareHost((env) => env.SLUICE),
  plugins: [
    budget({ limits: { user: 1e12 }, windowMs: 86_400_000, reserve: () => 1000 }),
    resumableStreams(),
  ],
});
export const Sluice = durableObject(proxy);
export default proxy;`;
