import type { DurableObjectClass } from "../../objects/object.js";
import { DRAIN_MS, type Objects, openBound } from "../process/bound-objects.js";
import { openSQLiteKeeper } from "./sqlite-keeper.js";

export type { ClosableHost } from "../../host/closable.js";
export { type NodeHostOptions, nodeHost } from "../../host/node.js";
export type { Objects } from "../process/bound-objects.js";
export { folderBucket } from "./folder-bucket.js";

/** Options of {@link openObjects}. */
export interface ObjectsOptions<Env, Names extends string> {
  /** Path of the file that keeps everything. It is made where it is missing. One process has it at a time. */
  readonly file: string;
  /** The classes of objects by the names of their bindings, `{ BUDGET: Budget }`. A name keeps its objects: don't change it. */
  readonly objects: Readonly<Record<Names, DurableObjectClass<never>>>;
  /** Variables and secrets, as `process.env` has them. */
  readonly env: Env;
}

/**
 * Keeps the durable parts of the proxy in this process and one file of SQLite: budgets, kept answers, creates that are
 * billed once, watched tasks, notices. Alarms that came due while no process ran come first.
 *
 * @throws {Error} where another process has the file, or a later version of this package wrote it
 * @example
 * ```ts
 * import { Budget, budget, type ObjectNamespace, mostTokens } from "@sluice/durable";
 * import { openObjects } from "@sluice/durable/node";
 * import { createProxy } from "@sluice/worker-proxy";
 * import { userOf } from "./sign-in.js"; // yours: who is asking, { id } or null
 *
 * interface Settings {
 *   readonly GATEWAY_API_KEY: string | undefined;
 *   readonly BUDGET: ObjectNamespace;
 * }
 * const objects = openObjects({
 *   file: "sluice.db",
 *   env: { GATEWAY_API_KEY: process.env["GATEWAY_API_KEY"] },
 *   objects: { BUDGET: Budget },
 * });
 * const meter = budget<Settings>({
 *   namespace: (env) => env.BUDGET,
 *   limits: { user: 200_000 }, // tokens
 *   windowMs: 86_400_000,
 *   reserveFor: mostTokens,
 * });
 * const proxy = createProxy<Settings>({
 *   baseURL: "https://gateway.example.com",
 *   apiKey: (env) => env.GATEWAY_API_KEY,
 *   authenticate: (request) => userOf(request),
 *   origins: ["https://app.example.com"],
 *   models: { "delta-5.3": { max_tokens: 8192 } },
 *   plugins: [meter],
 * });
 * const answer = (request: Request) => proxy.fetch(request, objects.env);
 * process.once("SIGTERM", () => objects.close());
 * ```
 */
export function openObjects<Env extends object, Names extends string>({
  file,
  objects,
  env,
}: ObjectsOptions<Env, Names>): Objects<Env, Names> {
  const { live, env: bound } = openBound(openSQLiteKeeper(file), objects, env);
  return { env: bound, close: (withinMs = DRAIN_MS) => live.close(withinMs) };
}
