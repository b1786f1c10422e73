import { createChatStore, createClient } from "@sluice/core";
import type { Page } from "../page.ts";

export async function run({ baseURL, signal, choice, write }: Page) {
  const client = createClient({
    baseURL,
    timeouts: { chunkMs: 3000 },
    onEvent(event) {
      if (event.type === "request") write(`→ ${event.path}\n`);
      if (event.type === "response") write(`← ${event.status}\n`);
      if (event.type === "retry") write(`  again in ${Math.round(event.delayMs)} ms\n`);
    },
  });
  const chat = createChatStore(client, { model: "delta-5.3" });
  signal.addEventListener("abort", chat.stop);
  const { messages, outcome, error } = await chat.send(`Tell me about the sea ${choice}`);
  write(`\n${messages.at(-1)?.content}\n\noutcome: ${outcome}`);
  if (error) write(`\n${error.name}: ${error.message}`);
}
