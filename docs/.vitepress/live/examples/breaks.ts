import { createClient, streamResumption } from "@sluice/core";
import { createChatStore } from "@sluice/stores";

interface RunOptions {
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly signal?: AbortSignal;
  readonly choice: string;
  readonly write: (text: string) => void;
}

export async function run({ write, choice, signal, ...clientOptions }: RunOptions) {
  const client = createClient({
    ...clientOptions,
    timeout: { chunkMs: 3000 },
    resume: streamResumption(),
    onEvent(event) {
      if (event.type === "request") write(`→ ${event.path}\n`);
      if (event.type === "response") write(`← ${event.status}\n`);
      if (event.type === "retry") write(`  again in ${Math.round(event.delayMs)} ms\n`);
    },
  });
  const chat = createChatStore(client, { model: "delta-5.3" });
  signal?.addEventListener("abort", chat.stop);
  const { messages, outcome, error } = await chat.send(`Tell me about the sea ${choice}`);
  write(`\n${messages.at(-1)?.content}\n\noutcome: ${outcome}`);
  if (error) write(`\n${error.name}: ${error.message}`);
}

// run as a script: `node breaks.ts "[[drop]]"`
if (import.meta.main) {
  const { GATEWAY_URL: baseURL = "http://127.0.0.1:8788", GATEWAY_API_KEY: apiKey = "sk-test" } = process.env;
  const [, , choice = "[[429:2]]"] = process.argv;
  await run({ baseURL, apiKey, choice, write: (text) => process.stdout.write(text) });
}
