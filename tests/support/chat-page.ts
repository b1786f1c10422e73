import { createClient, defineTool } from "@sluice/core";
import { type ChatState, createChatStore, indexedDBStorage } from "@sluice/stores";

/** Interface of the page for its test. */
export interface ChatPage {
  readonly state: () => ChatState;
  readonly send: (text: string) => void;
  readonly retry: () => void;
  readonly stop: () => void;
  /** Resolves each pending action from now on, as the effect of an app does. */
  readonly respondToAll: () => void;
  readonly addToolOutput: (toolCallId: string) => void;
}

const client = createClient({ baseURL: location.origin });
const parameters = { type: "object" };
const chat = createChatStore(client, {
  id: "chat",
  model: "alpha-v4.1-flash",
  storage: indexedDBStorage(),
  tools: [
    defineTool({ name: "asked", inputSchema: parameters }),
    defineTool({ name: "endless", inputSchema: parameters, execute: () => new Promise(() => {}) }),
  ],
});
chat.subscribe(() => {});

function respond(): void {
  for (const { toolCallId } of chat.getSnapshot().pendingActions) void chat.addToolOutput(toolCallId, "yes");
}

Object.assign(globalThis, {
  page: {
    state: chat.getSnapshot,
    send: (text) => void chat.send(text),
    retry: () => void chat.retry(),
    stop: () => chat.stop(),
    respondToAll() {
      chat.subscribe(respond);
      respond();
    },
    addToolOutput: (toolCallId) => void chat.addToolOutput(toolCallId, "yes"),
  } satisfies ChatPage,
});
