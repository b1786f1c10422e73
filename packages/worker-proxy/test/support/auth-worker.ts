import { createProxy } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";

interface Env {
  readonly UPSTREAM: string;
  readonly KEY: string;
}

/** A proxy for a real workerd. Its users sign in with a token of another service. */
export default createProxy<Env>({
  baseURL: (env) => env.UPSTREAM,
  apiKey: (env) => env.KEY,
  authenticate: jwt<Env>({
    jwks: (env) => `${env.UPSTREAM}/jwks`,
    issuer: "https://sign-in.example/",
    audience: "gateway-proxy",
  }),
  origins: [],
  models: ["delta-5.3"],
});
