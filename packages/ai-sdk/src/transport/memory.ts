import type { Client } from "@sluice/core";
import type { UIMessage } from "ai";

/**
 * Storage for the ids of answers in progress: `sessionStorage` for reloads of one tab, or `localStorage`. React Native's
 * `AsyncStorage` fits, too.
 */
export interface StreamStorage {
  /** Returns the text of a key, at once or later; null or undefined for a key that it does not have. */
  getItem(key: string): string | null | undefined | PromiseLike<string | null | undefined>;
  /** Keeps a text under a key. */
  setItem(key: string, text: string): unknown;
  /** Removes a key, also one that it does not have. */
  removeItem(key: string): unknown;
}

/** An answer in progress, as the storage keeps it. */
export interface Progress {
  /** Id of the answer at the proxy. */
  readonly streamId: string;
  /** Id of the message that shows it. */
  readonly messageId: string;
  /** Parts of earlier steps of that message. */
  readonly earlier: UIMessage["parts"];
}

/** The answers in progress of a user, one for each chat. */
export interface Memory {
  read(chatId: string): Promise<Progress | undefined>;
  write(chatId: string, progress: Progress): Promise<unknown>;
  remove(chatId: string): Promise<unknown>;
}

/** Creates the memory of a transport. A storage that fails costs the resumption after a reload, and no answer. */
export function createMemory(client: Client, storage: StreamStorage | undefined): Memory {
  const keyOf = (chatId: string) => `sluice/ai-sdk/${client.scope ?? ""}/${chatId}`;
  return {
    read: (chatId) => attempt(async () => progressIn(await storage?.getItem(keyOf(chatId)))),
    write: (chatId, progress) => attempt(() => storage?.setItem(keyOf(chatId), JSON.stringify(progress))),
    remove: (chatId) => attempt(() => storage?.removeItem(keyOf(chatId))),
  };

  async function attempt<Result>(work: () => Result): Promise<Awaited<Result> | undefined> {
    try {
      return await work();
    } catch (cause) {
      const message = `failed, so that an answer may not continue after a reload: ${cause}`;
      client.warn({ path: "storage", message, rule: "ai-sdk.storage" });
      return undefined;
    }
  }
}

/** Reads a record, which any script of the page may have written. */
function progressIn(text: string | null | undefined): Progress | undefined {
  if (!text) return undefined;
  const { streamId, messageId, earlier } = JSON.parse(text) as Partial<Record<keyof Progress, unknown>>;
  if (typeof streamId !== "string" || typeof messageId !== "string" || !Array.isArray(earlier))
    return undefined;
  return { streamId, messageId, earlier };
}
