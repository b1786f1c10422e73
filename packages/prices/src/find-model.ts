import { models } from "@sluice/core/schemas";

type Row = (typeof models)[keyof typeof models];

/** Returns the row of a model of a kind; undefined for an unknown model. */
export function findModel<Kind extends Row["kind"]>(
  kind: Kind,
  id: string,
): Extract<Row, { readonly kind: Kind }> | undefined {
  const row: Row | undefined = Object.hasOwn(models, id) ? models[id as Row["id"]] : undefined;
  return row?.kind === kind ? (row as Extract<Row, { readonly kind: Kind }>) : undefined;
}
