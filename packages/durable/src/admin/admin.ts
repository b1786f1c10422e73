import type { ProxyPlugin, User } from "@sluice/worker-proxy";
import {
  type AdminOperation,
  type AdmittedRequest,
  definePlugin,
  ensure,
  type PluginRoute,
  Refusal,
} from "@sluice/worker-proxy/plugin";
import { checkNames } from "../shared/check-options.js";
import { connectOnce } from "../shared/connect-once.js";
import { checkUserData, type ExportOptions, eraseFrom, exportFrom } from "./user-data.js";

/** Options of {@link admin}. */
export interface AdminOptions<Env = unknown> {
  /**
   * Decides who is an operator. Only `true`, or a promise of `true`, grants access. Every other result and every error
   * lead to a 404 response. Receives the user that `authenticate` returned, and the request before its body is read.
   */
  readonly isOperator: (
    user: User,
    request: Pick<AdmittedRequest<Env>, "request" | "env" | "context" | "path">,
  ) => boolean | Promise<boolean>;
}

/**
 * Creates a plugin that serves the endpoints of operators: `POST /v1/admin/users/export` and `users/erase`, each with
 * `{ "user": "…" }`, and the operations of all plugins of the proxy, such as `budgets/raise`. Everyone else gets the
 * 404 of an unknown path, signed in or not. A request with an `Origin` header also gets a 404, so web pages can't send
 * an operator's request. `rateLimit` does not apply to operators.
 *
 * @throws {TypeError} if `isOperator` is missing. `createProxy` throws for two operations with the same name, without a
 * plugin that stores data, and with `authenticate: "public"`
 * @example
 * ```ts
 * export default createProxy<Env>({
 *   ...options,
 *   host: nodeHost({ file: "sluice.db" }),
 *   plugins: [
 *     budget({ limits: { user: 200_000 }, windowMs: 86_400_000 }),
 *     admin({ isOperator: ({ id }) => id === "ada" }),
 *   ],
 * });
 * ```
 */
export function admin<Env = unknown>(options: AdminOptions<Env>): ProxyPlugin<Env> {
  const { isOperator } = options ?? {};
  ensure(typeof isOperator === "function", 'isOperator: give a function, ({ id }) => id === "ada"');
  checkNames("admin", options, ["isOperator"]);
  const { connect, getServer } = connectOnce<Env>("admin");
  const userOperations: readonly AdminOperation<Env>[] = [
    {
      name: "users/export",
      fields: ["user", "part", "cursor"],
      run: async (env, { user, part, cursor }) =>
        exportFrom(getServer(), env, user as string, { part, cursor } as ExportOptions),
    },
    {
      name: "users/erase",
      fields: ["user"],
      run: async (env, { user }) => eraseFrom(getServer(), env, user as string),
    },
  ];
  return definePlugin({
    connect(server) {
      ensure(!server.isPublic, 'plugins: admin can\'t be open with authenticate: "public"');
      connect(server);
    },
    createRoutes(plugins) {
      checkUserData(plugins);
      ensure(
        plugins.some(({ userData, operations }) => userData || operations),
        "admin: no other plugin stores anything; list it beside those whose data it is for, such as budget(…)",
      );
      const operations = [...userOperations, ...plugins.flatMap((plugin) => plugin.operations ?? [])];
      checkOperations(operations.map(({ name }) => name));
      return operations.map((operation) => createRoute(operation, isOperator));
    },
  });
}

function checkOperations(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    ensure(
      /^[a-z\d-]+\/[a-z\d-]+$/.test(name),
      `plugins: ${name}: is not a valid name of an operation, such as files/remove`,
    );
    ensure(names.indexOf(name) === index, `plugins: two have the operation ${name}`);
  }
}

function createRoute<Env>(
  operation: AdminOperation<Env>,
  isOperator: AdminOptions<Env>["isOperator"],
): PluginRoute<Env> {
  return {
    name: "admin",
    method: "POST",
    path: `/v1/admin/${operation.name}`,
    id: "own",
    isOperator,
    serve: async ({ env, body = {} }: AdmittedRequest<Env>) =>
      Response.json((await runOperation(operation, env, body)) ?? {}),
  };
}

/** @throws {Refusal} 400 with the message of a TypeError, which describes the operator's mistake */
async function runOperation<Env>(
  { fields, run }: AdminOperation<Env>,
  env: Env,
  body: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  try {
    // an unknown field may be a misspelled filter: refuse it instead of erasing too much
    const unknown = Object.keys(body).find((name) => fields && !fields.includes(name));
    ensure(unknown === undefined, `${unknown}: is not a field of this operation; nothing was done`);
    return await run(env, body);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal("custom", {
      error: { status: 400, code: "invalid_request", message: error.message },
      cause: error,
    });
  }
}
