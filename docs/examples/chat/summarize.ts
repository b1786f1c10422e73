import { type ChatRequestMessage, type Client, completeChat } from "@sluice/core";

const summaries = new Map<string, string>();

/** Replaces old messages with a summary: `prepareMessages: (messages, { signal }) => summarize(client, messages, signal)`. */
export async function summarize(
  client: Client,
  messages: readonly ChatRequestMessage[],
  signal: AbortSignal,
): Promise<readonly ChatRequestMessage[]> {
  const instructions = messages.filter(({ role }) => role === "system");
  const rest = messages.filter(({ role }) => role !== "system");
  // the same messages give the same request: the first 10 become one, then the first 30, 50, …
  const oldCount = Math.floor(rest.length / 20) * 20 - 10;
  if (oldCount < 0) return messages;
  const text = JSON.stringify(rest.slice(0, oldCount).map(({ role, content }) => [role, content]));
  const summary = summaries.get(text) ?? (await requestSummary(client, text, signal));
  summaries.set(text, summary);
  const before = { role: "system", content: `The conversation so far: ${summary}` } as const;
  return [...instructions, before, ...rest.slice(oldCount)];
}

async function requestSummary(client: Client, content: string, signal: AbortSignal): Promise<string> {
  const { message } = await completeChat(
    client,
    {
      model: "gamma-chat-1-6-251015",
      messages: [
        { role: "system", content: "Summarize this conversation in 200 words." },
        { role: "user", content },
      ],
    },
    { signal },
  );
  return message.content;
}
