import { createClient } from "@sluice/core";
import { type ChatStoreOptions, createChatStore, indexedDBStorage } from "@sluice/stores";

const TURNS = 200;

const reply = `## A lock in five steps

Water does the work, and **nobody pumps**. See the table and the code.

| Step | Gate | Level |
| ---- | ---- | ----- |
| 1    | open | low   |
| 2    | shut | rises |

\`\`\`ts
for (const gate of gates) await gate.close();
\`\`\`

1. The boat enters.
2. The gate closes behind it.
3. The paddles open, and the level rises: $h = \\frac{V}{A}$.

`;

const messages = Array.from(
  { length: TURNS },
  (_, at): NonNullable<ChatStoreOptions["initialMessages"]> => [
    { role: "user", content: `How does lock ${at} work?` },
    { role: "assistant", content: reply },
  ],
).flat();

const client = createClient({ baseURL: location.origin });

/** Keeps a conversation of 200 turns under an id, as the studio would. */
function seed(id: string): void {
  const store = createChatStore(client, { id, model: "delta-5.3", storage: indexedDBStorage() });
  store.subscribe(() => {});
  store.setMessages(messages);
}

Object.assign(globalThis, { seed });
