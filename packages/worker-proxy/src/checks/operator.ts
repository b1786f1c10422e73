import type { Authenticate } from "../api/options.js";
import type { User } from "../api/plugin.js";
import { type LoggedError, logCause } from "../refusals/log.js";
import { Refusal } from "../refusals/refusal.js";
import type { Incoming, Report } from "../refusals/report.js";
import type { Route } from "./path.js";
import { findUser } from "./sign-in.js";

/**
 * Returns the user of a request for a path of operators, if the path is open to this user. Other users get the response of
 * a path that is not served. So the function never throws: a 401 or 503 would reveal the path.
 */
export async function findOperator<Env>(
  {
    authenticate,
    log,
  }: Pick<LoggedError<Env>, "log"> & { readonly authenticate: Authenticate<Env> | "public" },
  { request, env, context }: Incoming<Env>,
  { name, path, plugin }: Route,
  { known }: Report,
): Promise<User | undefined> {
  known.route = name;
  // browsers send the origin of the page with each POST: no page acts for an operator, even with a cookie
  if (request.headers.has("origin")) return undefined;
  try {
    const user = await findUser(authenticate, request, env);
    known.userId = user.id;
    const incoming = { request, env: env as never, context, path };
    if ((await plugin?.isOperator?.(user, incoming)) !== true) return undefined;
    known.operation = path.replace(/^.*\/admin\//, "");
    return user;
  } catch (error) {
    const isSignIn = error instanceof Refusal && error.status < 500;
    const reason = isSignIn ? error.details.reason : undefined;
    if (reason) known.reason = reason;
    const subject = isSignIn ? "admin: a sign-in was refused" : "admin: every request is refused";
    if (reason || !isSignIn) await logCause(subject, reason ?? error, { request, env, log });
    return undefined;
  }
}
