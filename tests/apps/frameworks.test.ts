import { readFileSync, writeFileSync } from "node:fs";
import { createClient, type Store } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { type ChatState, type ChatStore, createChatStore } from "@sluice/stores";
import { expect, test, vi } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The adapters of the page "Other frameworks" (docs/examples). Each stand-in of a framework does what its own documentation
 * says of the function. Vue and Svelte themselves run in examples-pages.ci.test.ts.
 */

const folder = createTemporaryFolder("frameworks");
const examples = `${import.meta.dirname}/../../docs/examples`;

/** The adapter of a framework, with the imports of the framework taken from the global of its name. */
async function adapter(framework: string, name: string): Promise<Record<string, unknown>> {
  const code = readFileSync(`${examples}/${framework}/${name}.ts`, "utf8");
  const file = `${folder}/${framework}.ts`;
  writeFileSync(
    file,
    code.replace(
      new RegExp(`import (.*) from "${framework}";`),
      (_, names: string) => `const ${names.replace(/type \w+, /g, "")} = globalThis.${framework};`,
    ),
  );
  return import(/* @vite-ignore */ file);
}

function createChat(): ChatStore {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const client = createClient({ baseURL: "https://gateway.test", apiKey: "sk-test", fetch: emulator.fetch });
  return createChatStore(client, { model: "delta-5.3" });
}

type Readable = (store: Store<ChatState>) => { subscribe(run: (state: ChatState) => void): () => void };

test("Svelte: a subscriber gets the state at once, then each change, until it unsubscribes", async () => {
  const { readable } = (await adapter("svelte", "readable")) as { readable: Readable };
  const chat = createChat();
  const states: ChatState[] = [];
  const unsubscribe = readable(chat).subscribe((state) => states.push(state));
  expect(states).toEqual([chat.getSnapshot()]);
  await chat.send("Hello");
  expect(states.at(-1)).toBe(chat.getSnapshot());
  expect(states.at(-1)?.messages).toHaveLength(2);
  unsubscribe();
  const { length } = states;
  chat.reset();
  expect(states).toHaveLength(length);
});

test("Solid: `from` has each change, and ends the subscription with its owner", async () => {
  const { readable } = (await adapter("solid", "readable")) as { readable: Readable };
  let cleanUp: () => void = () => {};
  const from = (observable: ReturnType<Readable>) => {
    let value: ChatState | undefined;
    cleanUp = observable.subscribe((next) => {
      value = next;
    });
    return () => value;
  };
  const chat = createChat();
  const state = from(readable(chat));
  await chat.send("Hello");
  expect(state()).toBe(chat.getSnapshot());
  expect(state()?.messages).toHaveLength(2);
  cleanUp();
  chat.reset();
  expect(state()?.messages).toHaveLength(2);
});

test("Vue: a shallow ref has each change until its scope is disposed of", async () => {
  const disposers: (() => void)[] = [];
  vi.stubGlobal("vue", {
    shallowRef: <T>(value: T) => ({ value }),
    onScopeDispose: (dispose: () => void) => disposers.push(dispose),
  });
  const { useStore } = (await adapter("vue", "use-store")) as {
    useStore: (store: ChatStore) => { value: ChatState };
  };
  vi.unstubAllGlobals();
  const chat = createChat();
  const state = useStore(chat);
  expect(state.value).toBe(chat.getSnapshot());
  await chat.send("Hello");
  expect(state.value.messages).toHaveLength(2);
  for (const dispose of disposers) dispose();
  chat.reset();
  expect(state.value.messages).toHaveLength(2);
});
