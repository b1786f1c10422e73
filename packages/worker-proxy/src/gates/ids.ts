import type { Admitted } from "../admitted.js";
import { Refusal } from "../refusal.js";
import type { Setup } from "../settings.js";
import type { Route } from "./path.js";
import type { IdKind, Tenancy } from "./tenancy.js";

/* Loaded for requests about a task or an asset. */

const ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * The gateway's own id of what a user asks for.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function ownId(tenancy: Tenancy | undefined, kind: IdKind, sentId: string): Promise<string> {
  const id = tenancy ? await tenancy.verify(kind, sentId) : sentId;
  if (id !== undefined && ID.test(id)) return id;
  throw new Refusal(kind === "asset" ? "asset_not_found" : "task_not_found");
}

/**
 * Admits a request that names one task or asset, in its path or in the body of a lookup.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function admitId<Env>(
  { ids }: Route,
  idInPath: string | undefined,
  body: Readonly<Record<string, unknown>> | undefined,
  tenancy: Tenancy | undefined,
  asked: Admitted<Env>,
): Promise<Admitted<Env>> {
  // what is no text in a lookup is no id
  const sentId = idInPath ?? (typeof body?.["Id"] === "string" ? body["Id"] : "");
  const id = ids ? await ownId(tenancy, ids, sentId) : sentId;
  return { ...asked, id, sentId, ...(body && { body: { Id: id } }) };
}

/** @throws {Refusal} 403 unless the operator has listed groups of assets: a cap alone says who may use which */
export function checkGroups(model: string, models: Setup["models"]): void {
  if (Object.hasOwn(models.get(model) ?? {}, "GroupId")) return;
  throw new Refusal("no_groups", { what: model, param: "GroupId", advice: model });
}
