import { createClient, streamChat } from "@sluice/core";
import type { Page } from "../page.ts";

export async function run({ baseURL, signal, write }: Page) {
  const client = createClient({ baseURL });
  const messages = [{ role: "user", content: "Why is the sky blue?" }] as const;
  const stream = streamChat(client, { model: "delta-5.3", messages }, { signal });
  for await (const delta of stream) {
    if (delta.type === "text-delta") write(delta.text);
  }
  const { outcome, timing } = await stream.result();
  write(`\n\n${outcome} after ${Math.round(timing.totalMs)} ms`);
}
