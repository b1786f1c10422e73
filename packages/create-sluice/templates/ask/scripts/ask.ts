import { createClient, isGatewayError, streamChat } from "@sluice/core";
import { modelNames } from "../server/models.ts";
import { sign } from "../server/sign-in.ts";

/* Asks the running server, and prints the reply while it streams: `npm run ask -- "Why is the sky blue?"`. */

const { APP_URL = "", SESSION_SECRET = "" } = process.env;
const client = createClient({
  baseURL: `${APP_URL}/api`,
  headers: async () => ({
    authorization: `Bearer ${await sign("session", "operator", 3600, SESSION_SECRET)}`,
  }),
});
const question = process.argv.slice(2).join(" ") || "Why is the sky blue?";
const stream = streamChat(client, { model: modelNames[0], messages: [{ role: "user", content: question }] });

try {
  for await (const delta of stream) if (delta.type === "text-delta") process.stdout.write(delta.text);
  const { outcome } = await stream.result();
  console.log(`\n${outcome}`);
} catch (error) {
  // the text so far is already printed
  console.error(`\n${isGatewayError(error) ? `${error.name}: ${error.message}` : error}`);
  process.exitCode = 1;
}
