import { createChatStore, createClient, defineTool, memoryStorage } from "@sluice/core";

/* A page that loads all that a chat loads when it needs it: tools, a storage, and retries. */

const weather = defineTool({
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  execute: () => "12 °C",
});
const client = createClient({ baseURL: location.origin });
const storage = memoryStorage();
const chat = createChatStore(client, { id: "a", model: "alpha-v4.1-flash", storage, tools: [weather] });
const violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  violations.push(`${violatedDirective} ${blockedURI}`),
);

globalThis.page = {
  violations,
  async send(text) {
    const { outcome, error } = await chat.send(text);
    return { outcome, error: error?.name };
  },
};
