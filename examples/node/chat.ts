import { createClient, isGatewayError, streamChat } from "@sluice/core";

/** Sends one message and prints the response while it arrives. Ctrl+C stops it. */
const client = createClient({
  baseURL: process.env["GATEWAY_URL"] ?? "http://127.0.0.1:8788",
  apiKey: process.env["GATEWAY_API_KEY"] ?? "sk-test",
});
const question = process.argv.slice(2).join(" ") || "Why is the sky blue?";

const stream = streamChat(client, {
  model: "alpha-v4.1-flash",
  messages: [{ role: "user", content: question }],
});
process.once("SIGINT", () => stream.abort());

try {
  for await (const delta of stream) if (delta.type === "text-delta") process.stdout.write(delta.text);
  const { outcome, usage } = await stream.result();
  console.error(`\n${outcome}, ${usage?.total_tokens ?? "?"} tokens`);
} catch (error) {
  // an abort is not an error of the library; the received text is already printed
  console.error(`\n${isGatewayError(error) ? `${error.name}: ${error.message}` : error}`);
  process.exitCode = 1;
}
