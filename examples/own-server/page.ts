import { createClient } from "@sluice/core";
import { createChatStore } from "@sluice/stores";

/** A chat of the page that talks to `server.ts`: the server decides about the model and the system prompt. */
export function openChat() {
  const client = createClient({ baseURL: "/api" });
  return createChatStore(client, { model: "delta-5.3" });
}
