import type { Authenticate } from "@sluice/worker-proxy";
import { jwt } from "@sluice/worker-proxy/auth";
import { SignJWT } from "jose";
import { isDevelopment } from "./development.ts";

/*
 * Users sign in with a link: `npm run invite -- ada` prints one. In development every visitor is the development user,
 * without a link. With a sign-in service, such as Clerk or Auth0, pass its `jwks` to `jwt` in place of `secret`, and
 * return the service's token from `openSession` of the page.
 */

/** The setting that this file needs. */
interface SignInEnv {
  readonly SESSION_SECRET: string;
}

/** Purpose of a token: a link lets its user open sessions for a month, and a session is sent with each request. */
type Purpose = "invite" | "session";

const ISSUER = "sluice-app";
const SESSION_SECONDS = 3600;
/** Prefix of the ids that production refuses, even with a valid signature. */
const DEVELOPMENT = "development:";

const [sessions, invites] = (["session", "invite"] as const).map((audience) =>
  jwt<SignInEnv>({ secret: (env) => env.SESSION_SECRET, issuer: ISSUER, audience }),
) as [Authenticate<SignInEnv>, Authenticate<SignInEnv>];

/** Returns the user of a request, or null. */
export const authenticate: Authenticate<SignInEnv> = Object.assign(
  (request: Request, env: SignInEnv) => findUser(sessions, request, env),
  { checks: sessions.checks ?? [] },
);

/** Handles `POST /api/session`: returns a token for an hour to a user with a link. */
export async function openSession(request: Request, env: SignInEnv): Promise<Response> {
  if (request.method !== "POST") return createRefusal(405, "Send a POST.");
  try {
    const user = (await findUser(invites, request, env)) ?? findDevelopmentUser(request);
    if (!user) return createRefusal(401, "This app is by invitation. Open the link that you were given.");
    const token = await sign("session", user.id, SESSION_SECONDS, env.SESSION_SECRET);
    const session = { token, user: user.id, seconds: SESSION_SECONDS, isDevelopment: isDevelopment(request) };
    return Response.json(session, { headers: { "cache-control": "no-store" } });
  } catch (error) {
    console.error("sign-in: has SESSION_SECRET 32 characters or more?", error);
    return createRefusal(503, "Sign-in does not work now. The operator finds the reason in the log.");
  }
}

/** Signs a token for a user. */
export function sign(purpose: Purpose, user: string, seconds: number, secret: string): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(ISSUER)
    .setAudience(purpose)
    .setSubject(user)
    .setExpirationTime(`${seconds}s`)
    .sign(new TextEncoder().encode(secret));
}

/** Returns the user of a request. Production refuses development users. */
async function findUser(authenticates: Authenticate<SignInEnv>, request: Request, env: SignInEnv) {
  const user = await authenticates(request, env);
  return user?.id.startsWith(DEVELOPMENT) && !isDevelopment(request) ? null : user;
}

function findDevelopmentUser(request: Request): { readonly id: string } | null {
  return isDevelopment(request) ? { id: `${DEVELOPMENT}user` } : null;
}

function createRefusal(status: number, message: string): Response {
  return Response.json({ error: { message } }, { status });
}
