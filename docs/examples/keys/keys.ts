import { createProxy } from "@sluice/worker-proxy";
import { options, type Env as ProxyEnv } from "./options.ts";

interface Env extends ProxyEnv {
  GATEWAY_API_KEY_OLD?: string;
  PROXY_SECRET_OLD?: string;
}

export default createProxy<Env>({
  ...options,
  apiKey: ({ GATEWAY_API_KEY: key, GATEWAY_API_KEY_OLD: old }) => (old ? [key, old] : key),
  secret: ({ PROXY_SECRET: secret, PROXY_SECRET_OLD: old }) => (old ? [secret, old] : secret),
});
