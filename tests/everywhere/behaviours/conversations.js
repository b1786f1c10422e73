import { createTestClient, equal, mark } from "./setup.js";

/*
 * A conversation: tools, branches, and a thread that is read again.
 */

/** The model calls a tool, gets its result, and responds with it. */
export async function tools(setup) {
  const { defineTool } = setup.core;
  const { createChatStore } = setup.stores;
  const calls = [];
  const depth = defineTool({
    name: "get_depth",
    inputSchema: { type: "object", properties: { river: { type: "string" } }, required: ["river"] },
    execute: (input) => {
      calls.push(Object.keys(input));
      return "7 metres";
    },
  });
  const store = createChatStore(createTestClient(setup), { model: "alpha-v4.1-flash", tools: [depth] });
  const { outcome } = await store.send("Use the tool get_depth: how deep is the river?");
  const text = store.getSnapshot().messages.at(-1)?.content ?? "";
  equal([outcome, calls, text.includes("7 metres")], ["complete", [["river"]], true]);
}

/** A thread: a response, a stopped one, another branch; a second store reads all of it from the storage. */
export async function chatStore(setup) {
  const { createChatStore, indexedDBStorage, memoryStorage } = setup.stores;
  const storage = "indexedDB" in globalThis ? indexedDBStorage() : memoryStorage();
  const options = { id: mark(), model: "delta-5.3", storage, throttleMs: 0 };
  const store = createChatStore(createTestClient(setup), options);
  const hello = await store.send("Hello");
  const stopped = store.send("And then? [[stall]]");
  await change(store, ({ messages }) => messages.at(-1)?.role === "assistant" && messages.at(-1).content);
  store.stop();
  const question = store.getSnapshot().messages.at(-2)?.id ?? "";
  equal([hello.outcome, (await stopped).outcome], ["complete", "stopped"]);
  const edited = await store.edit(question, "And then, in the end?");
  equal([edited.outcome, store.getSnapshot().messages.length], ["complete", 4]);
  const texts = ({ messages }) => messages.map(({ role, content }) => [role, content]);
  const shown = texts(store.getSnapshot());
  store.close();
  const again = createChatStore(createTestClient(setup), options);
  await change(again, ({ persistence }) => persistence.status !== "restoring");
  equal(texts(again.getSnapshot()), shown);
  equal(again.getSnapshot().messages[2]?.branches?.length, 2);
  again.close();
}

/** Resolves as soon as a snapshot of the store is as wanted. */
function change(store, isWanted) {
  return new Promise((resolve) => {
    const look = () => {
      if (!isWanted(store.getSnapshot())) return;
      unsubscribe();
      resolve(undefined);
    };
    const unsubscribe = store.subscribe(look);
    queueMicrotask(look);
  });
}
