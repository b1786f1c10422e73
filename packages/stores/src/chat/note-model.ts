import type { Client } from "@sluice/core";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Warns if two subscribers of one chat have different models, because each one sends with its model. Not in production.
 *
 * @returns a function that ends the subscription
 */
export function noteModel(
  client: Pick<Client, "warn">,
  id: string | undefined,
  read: () => { readonly model: string },
): () => void {
  let isOver = false;
  try {
    if (process.env.NODE_ENV !== "production" && id !== undefined)
      import("./compare-models.js")
        .then(({ compareModels }) => compareModels(client, id, { read, isOver: () => isOver }))
        .catch(() => {});
  } catch {}
  return () => {
    isOver = true;
  };
}
