import type { Operation, Reading } from "./api/host.js";

/**
 * Defines a write of a plugin, for `run` of its host. See {@link Operation}.
 *
 * @param name unique among all plugins
 * @param run runs in one transaction
 * @example
 * ```ts
 * const addVisit = operation("visits.add", async ({ key, query }: Transaction, { at }: { at: number }) => {
 *   await query("INSERT INTO visits (key, at) VALUES (?, ?) ON CONFLICT DO NOTHING", key, at);
 * });
 * ```
 */
export function operation<Input, Output>(
  name: string,
  run: Operation<Input, Output>["run"],
): Operation<Input, Output> {
  return { name, kind: "write", run };
}

/**
 * Defines a read of a plugin, for `run` of its host. See {@link Reading}.
 *
 * @param name unique among all plugins
 * @param run runs without a lock
 * @example
 * ```ts
 * const countVisits = reading("visits.count", async ({ key, query }: Reader, _: null) => {
 *   const [row] = await query<{ count: number }>("SELECT COUNT(*) AS count FROM visits WHERE key = ?", key);
 *   return row?.count ?? 0;
 * });
 * ```
 */
export function reading<Input, Output>(
  name: string,
  run: Reading<Input, Output>["run"],
): Reading<Input, Output> {
  return { name, kind: "read", run };
}
