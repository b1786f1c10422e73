import { jwt } from "@sluice/worker-proxy/auth";

// the session of Auth.js is encrypted:
// a route of your app signs a token, see below
export const authenticate = jwt<{ PROXY_TOKEN_SECRET: string }>({
  secret: (env) => env.PROXY_TOKEN_SECRET,
  issuer: "https://app.example.com",
  audience: "gateway-proxy",
});
