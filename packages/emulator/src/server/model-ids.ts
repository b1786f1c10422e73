import { type ModelInfo, models } from "@sluice/core/schemas";

/** Returns the ids of the models of a kind. */
export function listModelIds<Kind extends ModelInfo["kind"]>(kind: Kind) {
  const isOfKind = (model: ModelInfo): model is Extract<ModelInfo, { readonly kind: Kind }> =>
    model.kind === kind;
  return Object.values(models)
    .filter(isOfKind)
    .map(({ id }) => id);
}
