import type { Admitted, User } from "../admitted.js";
import type { Authenticate } from "../options.js";
import { Refusal } from "../refusals/refusal.js";
import type { Report } from "../report.js";
import type { Route } from "./path.js";
import { userOf } from "./user.js";

/**
 * Returns the user of a request for a path of operators, if the path is open to this user. Everybody else has to get the
 * answer of a path that is not served, so nothing is thrown here: a 401 or 503 would show that there is a path.
 *
 * @param log is given the error of a sign-in that failed, or the reason of one that was refused
 */
export async function operatorOf<Env>(
  authenticate: Authenticate<Env> | "public",
  { request, env, context }: Pick<Admitted<Env>, "request" | "env" | "context">,
  { name, path, extension }: Route,
  { known }: Report,
  log: (subject: string, error: unknown) => Promise<void>,
): Promise<User | undefined> {
  known.route = name;
  // browsers name the page in each POST: whatever cookie goes along, no page acts for an operator
  if (request.headers.has("origin")) return undefined;
  const allows = extension?.allows as ((user: User, asked: unknown) => unknown) | undefined;
  try {
    const user = await userOf(authenticate, request, env);
    known.user = user.id;
    if (authenticate === "public" || (await allows?.(user, { request, env, context, path })) !== true)
      return undefined;
    known.operation = path.replace(/^.*\/admin\//, "");
    return user;
  } catch (error) {
    const isSignIn =
      error instanceof Refusal && ["unauthenticated", "invalid_key", "user_mismatch"].includes(error.reason);
    if (isSignIn && error.details.reason) known.reason = error.details.reason;
    if (!isSignIn) await log("admin: nobody gets in", error);
    else if (error.details.reason) await log("admin: a sign-in was refused", error.details.reason);
    return undefined;
  }
}
