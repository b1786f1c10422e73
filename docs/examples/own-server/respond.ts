import { createClient, streamChat, toResponse } from "@sluice/core";

const gateway = createClient({
  baseURL: "https://gateway.example.com",
  apiKey: process.env["GATEWAY_API_KEY"],
});

interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return (role === "user" || role === "assistant") && typeof content === "string";
}

/** Responds to a chat request of the page. `signal` aborts when the page disconnects, which ends the gateway's work. */
export async function respond(body: unknown, signal: AbortSignal): Promise<Response> {
  const { messages } = (body ?? {}) as { messages?: unknown };
  if (!Array.isArray(messages) || !messages.every(isMessage))
    return Response.json({ error: { message: "messages: must be a list of texts" } }, { status: 400 });
  const shown = messages.map(({ role, content }) => ({ role, content }));
  const instructions = { role: "system", content: "You help with recipes." } as const;
  return toResponse(
    streamChat(gateway, { model: "delta-5.3", messages: [instructions, ...shown] }, { signal }),
  );
}
