import type { Client, ClientEvent } from "@sluice/core";

type RequestEvent = Extract<ClientEvent, { readonly type: "request" }>;

/** Returns a client that calls `listen` before it sends a request. */
export function listenToRequests(client: Client, listen: (event: RequestEvent) => void): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "request") listen(event);
      return client.emit(event);
    },
  };
}
