import type { Client } from "@sluice/core";

/* Loaded in development when a client replaces another one. */

/** Warns if a client has the same gateway and user as the client that it replaces. */
export function compareClients(previous: Client, client: Client): void {
  if (previous.baseURL !== client.baseURL || previous.user !== client.user) return;
  const message =
    "is a new client with the same baseURL, and the chats of the previous client are gone: call createClient() " +
    "outside of components, or keep the client in useState()";
  client.warn({ path: "GatewayProvider.client", message, rule: "options.client" });
}
