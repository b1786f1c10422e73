import type { Client } from "@sluice/core";
import { SluiceAgent } from "./sluice-agent";

export async function ask(client: Client) {
  const agent = new SluiceAgent(client, "alpha-v4.1-flash");
  agent.subscribe({
    onTextMessageContentEvent: ({ textMessageBuffer }) => {
      document.title = textMessageBuffer;
    },
  });
  agent.addMessage({ id: "1", role: "user", content: "How deep is the sea?" });
  await agent.runAgent({ tools: [{ name: "get_depth", description: "Measures a depth" }] });
  return agent.messages; // a call of get_depth is in the last message: add a tool message, and run again
}
