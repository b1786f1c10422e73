import { createClient, streamChat } from "@sluice/core";

interface RunOptions {
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly write: (text: string) => void;
}

export async function run({ write, signal, ...clientOptions }: RunOptions) {
  const client = createClient(clientOptions);
  const messages = [{ role: "user", content: "Why is the sky blue?" }] as const;
  const stream = streamChat(client, { model: "delta-5.3", messages }, { signal });
  for await (const delta of stream) {
    if (delta.type === "text-delta") write(delta.text);
  }
  const { outcome, timing } = await stream.result();
  write(`\n\n${outcome} after ${Math.round(timing.totalMs)} ms`);
}

// run as a script
if (import.meta.main) {
  const { GATEWAY_URL: baseURL = "http://127.0.0.1:8788", GATEWAY_API_KEY: apiKey = "sk-test" } = process.env;
  await run({ baseURL, apiKey, write: (text) => process.stdout.write(text) });
}
