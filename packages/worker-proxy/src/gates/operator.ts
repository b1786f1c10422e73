import type { Admitted, User } from "../admitted.js";
import { logCause } from "../own-answers.js";
import { Refusal } from "../refusal.js";
import type { Report } from "../report.js";
import type { Settings } from "../settings.js";
import { userOf } from "./caller.js";
import type { Route } from "./path.js";

/**
 * Returns the user of a request for a path of operators, if the path is open to this user. Everybody else has to get the
 * answer of a path that is not served, so nothing is thrown here: a 401 or 503 would show that there is a path.
 */
export async function operatorOf<Env>(
  settings: Settings<Env>,
  { request, env, context }: Pick<Admitted<Env>, "request" | "env" | "context">,
  { name, path, extension }: Route,
  report: Report,
): Promise<User | undefined> {
  const { known } = report;
  known.route = name;
  // browsers name the page in each POST: whatever cookie goes along, no page acts for an operator
  if (request.headers.has("origin")) return undefined;
  const allows = extension?.allows as ((user: User, asked: unknown) => unknown) | undefined;
  try {
    const user = await userOf(settings.authenticate, request, env);
    known.user = user.id;
    if (
      settings.authenticate === "public" ||
      (await allows?.(user, { request, env, context, path })) !== true
    )
      return undefined;
    known.operation = path.replace(/^.*\/admin\//, "");
    return user;
  } catch (error) {
    const isSignIn = error instanceof Refusal && ["unauthenticated", "invalid_key"].includes(error.reason);
    if (isSignIn && error.details.reason) known.reason = error.details.reason;
    if (!isSignIn) await logCause("admin: nobody gets in", error, { request, env, settings, report });
    return undefined;
  }
}
