import { createClient, streamChat } from "@sluice/core";
import { floor } from "./floor.ts";

/** The server that a subject asks. */
export interface Gateway {
  /** Without `/v1`. */
  readonly baseURL: string;
  readonly fetch: typeof globalThis.fetch;
}

/** A client that reads one streamed response to its end, and calls `onPiece` for each piece of it. */
export type Subject = (gateway: Gateway, onPiece: () => void) => Promise<unknown>;

const headers = { "content-type": "application/json" };
const body = JSON.stringify({
  model: "delta-5.3",
  stream: true,
  messages: [{ role: "user", content: "Hi" }],
});

/** The bare `fetch` of the floor and of parsers that bring none. */
export function sendRequest({ baseURL, fetch }: Gateway): Promise<Response> {
  return fetch(`${baseURL}/v1/chat/completions`, { method: "POST", headers, body });
}

export const own = {
  floor: async (gateway, onPiece) => floor(await sendRequest(gateway), onPiece),
  Sluice: async ({ baseURL, fetch }, onPiece) => {
    const isPlatform = fetch === globalThis.fetch;
    const client = createClient({ baseURL, ...(!isPlatform && { fetch: (request) => fetch(request) }) });
    const stream = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] });
    for await (const _ of stream) onPiece();
    return stream.snapshot;
  },
} satisfies Record<string, Subject>;
