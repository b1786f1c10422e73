import { createClient, streamChat, toResponse } from "@sluice/core";

/*
 * A backend between the page and the gateway. It has the key, the system prompt and the choice of the model; the page
 * sends messages only. Run `deno serve server.ts` or `bun server.ts`, or use any host with a `fetch(request)`.
 */

const client = createClient({
  baseURL: process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8788",
  apiKey: process.env["GATEWAY_API_KEY"] ?? "sk-test",
});

/** A message of the page. Nothing else of its request reaches the gateway. */
interface Message {
  readonly role: "user" | "assistant";
  readonly content: string;
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return (role === "user" || role === "assistant") && typeof content === "string";
}

async function respond(request: Request): Promise<Response> {
  const body: unknown = await request.json().catch(() => undefined);
  const messages = (body as { messages?: unknown[] } | undefined)?.messages;
  if (!Array.isArray(messages) || !messages.every(isMessage))
    return Response.json({ error: { message: "messages: must be a list of texts" } }, { status: 400 });
  const stream = streamChat(
    client,
    {
      model: "delta-5.3",
      max_tokens: 4000,
      messages: [
        { role: "system", content: "You help with recipes." },
        ...messages.map(({ role, content }) => ({ role, content })),
      ],
    },
    // a page that leaves ends the gateway's work, too
    { signal: request.signal },
  );
  return toResponse(stream);
}

export default {
  async fetch(request: Request): Promise<Response> {
    // yours: find the user of this request here, and refuse strangers with 401
    const { pathname } = new URL(request.url);
    const isChat = request.method === "POST" && pathname === "/api/v1/chat/completions";
    return isChat ? respond(request) : new Response("not found", { status: 404 });
  },
};
