import type { Client, ClientEvent } from "@sluice/core";

type RequestEvent = Extract<ClientEvent, { readonly type: "request" }>;

/** Returns the client, which calls `listen` before each request that it sends. */
export function onRequest(client: Client, listen: (event: RequestEvent) => void): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "request") listen(event);
      client.emit(event);
    },
  };
}
