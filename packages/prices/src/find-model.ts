import { type ModelInfo, models } from "@sluice/core/schemas";

/** Returns the row of a model of a kind; undefined for an unknown model. */
export function findModel<Kind extends ModelInfo["kind"]>(kind: Kind, id: string) {
  const row = Object.hasOwn(models, id) ? models[id as ModelInfo["id"]] : undefined;
  return row?.kind === kind ? (row as Extract<ModelInfo, { readonly kind: Kind }>) : undefined;
}
