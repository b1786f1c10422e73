import { createClient, isGatewayError, streamChat } from "@sluice/core";

/** Sends one message and prints the response while it arrives. */
const client = createClient({
  baseURL: Deno.env.get("GATEWAY_URL") ?? "http://127.0.0.1:8788",
  apiKey: Deno.env.get("GATEWAY_API_KEY") ?? "sk-test",
});
const stream = streamChat(client, {
  model: "alpha-v4.1-flash",
  messages: [{ role: "user", content: Deno.args.join(" ") || "Why is the sky blue?" }],
});

try {
  await stream.textStream.pipeThrough(new TextEncoderStream()).pipeTo(Deno.stdout.writable);
  const { outcome } = await stream.result();
  console.error(`\n${outcome}`);
} catch (error) {
  console.error(`\n${isGatewayError(error) ? `${error.name}: ${error.message}` : error}`);
  Deno.exit(1);
}
