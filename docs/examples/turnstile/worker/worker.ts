import { createProxy, type ProxyContext } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";
import { SignJWT } from "jose";
import { options, type Env as ProxyEnv } from "./options.ts"; // the options of your proxy

type Env = ProxyEnv & Record<"TURNSTILE_SECRET_KEY" | "SESSION_SECRET", string>;
const APP = "https://app.example.com";

const proxy = createProxy<Env>({
  ...options,
  authenticate: jwt<Env>({ secret: (env) => env.SESSION_SECRET, issuer: APP, audience: "guests" }),
});

export default {
  fetch: (request: Request, env: Env, context: ProxyContext) =>
    new URL(request.url).pathname === "/session"
      ? openSession(request, env)
      : proxy.fetch(request, env, context),
};

async function openSession(request: Request, env: Env): Promise<Response> {
  const headers = { "access-control-allow-origin": APP, "cache-control": "no-store" };
  const size = Number(request.headers.get("content-length") ?? Infinity);
  if (request.method !== "POST" || request.headers.get("origin") !== APP || !(size <= 2048))
    return new Response(null, { status: 400, headers });
  const isAccepted = await checkToken(await request.text(), env).catch(console.error);
  if (!isAccepted) return new Response(null, { status: isAccepted === false ? 403 : 503, headers });
  const expiresAt = Math.floor(Date.now() / 1000) + 3600;
  const session = new SignJWT({
    iss: APP,
    aud: "guests",
    sub: `guest-${crypto.randomUUID()}`,
    exp: expiresAt,
  });
  const key = new TextEncoder().encode(env.SESSION_SECRET);
  const token = await session.setProtectedHeader({ alg: "HS256" }).sign(key);
  return Response.json({ token, expiresAt: expiresAt * 1000 }, { headers });
}

/** Throws if the response of Turnstile is not a verdict. */
async function checkToken(token: string, env: Env): Promise<boolean> {
  const body = new URLSearchParams({ secret: env.TURNSTILE_SECRET_KEY, response: token });
  const init = { method: "POST", body, redirect: "manual", signal: AbortSignal.timeout(5000) } as const;
  const response = await fetch("https://challenges.cloudflare.com/turnstile/v0/siteverify", init);
  if (response.status !== 200) throw new Error(`siteverify responded with ${response.status}`);
  const verdict = (await response.json()) as Record<string, unknown>;
  if (verdict["success"] !== true) console.log("turnstile:", verdict["error-codes"]);
  const { success, hostname, action } = verdict;
  return success === true && hostname === new URL(APP).hostname && action === "chat";
}
