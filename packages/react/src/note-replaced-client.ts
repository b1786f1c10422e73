import type { Client } from "@sluice/core";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Warns if a new client replaces an equal one: a component has probably created both. Not in production. */
export function noteReplacedClient(previous: Client, client: Client): void {
  try {
    if (process.env.NODE_ENV !== "production" && previous !== client)
      import("./compare-clients.js")
        .then(({ compareClients }) => compareClients(previous, client))
        .catch(() => {});
  } catch {}
}
