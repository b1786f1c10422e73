import type {
  AdminOperation,
  AdmittedRequest,
  OperatorPart,
  OperatorRequest,
  PluginRoute,
  ProxyPlugin,
  User,
} from "@sluice/worker-proxy";
import { ensure, Refusal } from "@sluice/worker-proxy/internal";
import { dataOf, eraseUser, exportUser } from "./user-data.js";

/** Options of {@link admin}. */
export interface AdminOptions<Env = unknown> {
  /**
   * Decides who is an operator: only `true`, or a promise of it, opens the paths. For everybody else, and where it throws,
   * they do not exist. It sees the user that `authenticate` returned, and the request before its body is read.
   */
  readonly operators: (user: User, asked: OperatorRequest<Env>) => boolean | Promise<boolean>;
  /** The parts that are read and changed: the plugins and stores of the proxy. */
  readonly parts: readonly OperatorPart<Env>[];
}

/**
 * Serves an operator's paths: `POST /v1/admin/users/export` and `users/erase`, each with `{ "user": "…" }`, and the
 * operations of the parts, such as `budgets/raise`. Anybody
 * else, signed in or not, gets the 404 of a path that is not served. A request with an `Origin` is never an operator's,
 * so that no page can send one. `rateLimit` does not apply to operators.
 *
 * The checks of the parts take part in `GET /health`.
 *
 * @throws {TypeError} when an option is missing, or two operations have one name
 * @example
 * ```ts
 * export default createProxy<Env>({
 *   ...options,
 *   plugins: [meter, streams, admin<Env>({ operators: ({ id }) => id === "ada", parts: [meter, streams] })],
 * });
 * ```
 */
export function admin<Env = unknown>({ operators, parts }: AdminOptions<Env>): ProxyPlugin<Env> {
  ensure(typeof operators === "function", "operators: give a function that says who is one, ({ id }) => …");
  ensure(Array.isArray(parts), "parts: give a list, [meter, files]");
  dataOf(parts, "anybody");
  const users: readonly AdminOperation<Env>[] = [
    {
      name: "users/export",
      run: async (env, { user, part, ...rest }) => {
        checkNoOther(rest);
        return exportUser(chosen(part), env, user as string);
      },
    },
    {
      name: "users/erase",
      run: async (env, { user, ...rest }) => {
        checkNoOther(rest);
        return eraseUser(parts, env, user as string);
      },
    },
  ];
  const operations = [...users, ...parts.flatMap((part) => part.operations ?? [])];
  for (const { name } of operations) {
    ensure(/^[a-z\d-]+\/[a-z\d-]+$/.test(name), `parts: ${name}: is no name of an operation, files/list`);
    const isTwice = operations.filter((other) => other.name === name).length > 1;
    ensure(!isTwice, `parts: two have the operation ${name}`);
  }
  return {
    routes: operations.map(routeOf),
    checks: [...new Set(parts.flatMap(({ checks = [] }) => checks))],
  };

  function routeOf({ name, run }: AdminOperation<Env>): PluginRoute<Env> {
    const serve = async ({ env, body = {} }: AdmittedRequest<Env>) =>
      Response.json(await answered(async () => run(env, body)));
    return {
      name: "admin",
      method: "POST",
      path: `/v1/admin/${name}`,
      id: "own",
      allows: (user, asked) => operators(user, asked),
      serve,
    };
  }

  /** Returns the part that the operator names; all parts where none is named. */
  function chosen(part: unknown): readonly OperatorPart<Env>[] {
    if (part === undefined) return parts;
    const found = parts.filter(({ userData }) => userData?.name === part);
    ensure(found.length > 0, "part: there is none of this name");
    return found;
  }
}

/** @throws {TypeError} for a field that is not known: it may be meant to leave something out of what is erased */
function checkNoOther(rest: object): void {
  const [name] = Object.keys(rest);
  ensure(name === undefined, `${name}: is not a field of this operation; nothing was done`);
}

/** Turns a mistake of the operator into an answer that names it. */
async function answered(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return (await work()) ?? {};
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal("said", {
      said: { status: 400, code: "invalid_request", message: error.message },
      cause: error,
    });
  }
}
