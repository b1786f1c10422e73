import { completeChat, createClient, isGatewayError } from "@sluice/core";

interface Env {
  readonly GATEWAY_URL: string;
  readonly GATEWAY_API_KEY: string;
}

/** A Worker that uses the client itself: POST a text, and get its summary as JSON. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    // add your own check of users here
    if (request.method !== "POST") return new Response("POST a text", { status: 405 });
    const client = createClient({ baseURL: env.GATEWAY_URL, apiKey: env.GATEWAY_API_KEY });
    try {
      const { message, outcome } = await completeChat(
        client,
        {
          model: "alpha-v4.1-flash",
          max_tokens: 2000,
          messages: [{ role: "user", content: `Summarize in three sentences:\n\n${await request.text()}` }],
        },
        // a disconnected caller also ends the gateway's work
        { signal: request.signal },
      );
      return Response.json({ summary: message.content, isWhole: outcome === "complete" });
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      console.error(JSON.stringify(error));
      return Response.json({ error: "the summary could not be made" }, { status: 502 });
    }
  },
};
