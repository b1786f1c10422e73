import type { Authenticate } from "../api/options.js";
import type { OperatorRequest, User } from "../api/plugin.js";
import { type LoggedError, logCause } from "../refusals/log.js";
import { describeRefusal, Refusal } from "../refusals/refusal.js";
import type { Incoming, Report } from "../refusals/report.js";
import type { Route } from "./path.js";
import { findUser } from "./sign-in.js";

/** Returns the user of a request for a path of operators, if the path is open to this user. */
export type FindOperator<Env> = (
  settings: Pick<LoggedError<Env>, "log"> & { readonly authenticate: Authenticate<Env> | "public" },
  incoming: Incoming<Env>,
  route: Route,
  report: Report,
) => Promise<User | undefined>;

/**
 * Creates the `findOperator` of a route. Other users get the response of a path that is not served. So the function never
 * throws: a 401 or 503 would reveal the path.
 *
 * @param isOperator returns `true` for an operator. It runs before the body is read
 * @example
 * ```ts
 * const findOperator = createFindOperator<Env>((user) => user.id === "ops@example.com");
 * ```
 */
export function createFindOperator<Env>(
  isOperator: (user: User, request: OperatorRequest<Env>) => boolean | Promise<boolean>,
): FindOperator<Env> {
  return async ({ authenticate, log }, { request, env, context }, { name, path }, { known, secrets }) => {
    known.route = name;
    // browsers send the origin of the page with each POST: no page acts for an operator, even with a cookie
    if (request.headers.has("origin")) return undefined;
    try {
      const user = await findUser(authenticate, request, env);
      known.userId = user.id;
      if ((await isOperator(user, { request, env, context, path })) !== true) return undefined;
      known.operation = path.replace(/^.*\/admin\//, "");
      return user;
    } catch (error) {
      const isSignIn = error instanceof Refusal && describeRefusal(error).status < 500;
      const reason = isSignIn ? error.details.reason : undefined;
      if (reason) known.reason = reason;
      const subject = isSignIn ? "admin: a sign-in was refused" : "admin: every request is refused";
      if (reason || !isSignIn) await logCause(subject, reason ?? error, { request, env, log, secrets });
      return undefined;
    }
  };
}
