import { jwt } from "@sluice/worker-proxy/auth";

/**
 * Identifies users by tokens that your own server signs (HS256) with a secret that it shares with this Worker:
 * `{ iss, aud, sub, exp }`, where `sub` is the user's id. A sign-in service that publishes its keys is
 * `jwt({ jwks, issuer, audience })`; a cookie of your own is a function that returns `{ id }` or null.
 */
export const authenticate = jwt<{ readonly JWT_SECRET: string }>({
  secret: (env) => env.JWT_SECRET,
  issuer: "https://app.example.com",
  audience: "gateway-proxy",
});
