import * as core from "@sluice/core";
import * as extend from "@sluice/core/extend";
import * as files from "@sluice/core/files";
import * as partialJSON from "@sluice/core/partial-json";
import * as schemas from "@sluice/core/schemas";
import * as sse from "@sluice/core/sse";
import * as media from "@sluice/media";
import * as react from "@sluice/react";
import * as german from "@sluice/react/de";
import * as stores from "@sluice/stores";
import * as storesExtend from "@sluice/stores/extend";

/* A page that imports all entries, and loads all that a chat loads when it needs it: tools, a storage, and retries. */

const { createClient, defineTool } = core;
const { createChatStore, memoryStorage } = stores;

const weather = defineTool({
  name: "weather",
  description: "The weather of a city",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
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
  entries: [core, extend, files, stores, storesExtend, media, partialJSON, schemas, sse, react, german],
  async send(text) {
    const { outcome, error } = await chat.send(text);
    return { outcome, error: error?.name };
  },
};
