import type { Client } from "@sluice/core";
import { awaitWithin } from "@sluice/core/extend";
import type { UIMessage } from "ai";

/**
 * Storage for the ids of messages in progress: `sessionStorage` for reloads of one tab, or `localStorage`. React
 * Native's `AsyncStorage` works too.
 */
export interface StreamStorage {
  /** Returns the text of a key, or null or undefined for an unknown key. May return a promise. */
  getItem(key: string): string | null | undefined | PromiseLike<string | null | undefined>;
  /** Stores a text under a key. */
  setItem(key: string, text: string): unknown;
  /** Removes a key. Ignores an unknown key. */
  removeItem(key: string): unknown;
}

/** A stored message in progress. Its request identifies it until the response has headers, then its id. */
export interface Progress {
  /** Id of the message at the proxy. */
  readonly streamId?: string;
  /** Request that was sent, with its idempotency key. */
  readonly sent?: SentRequest;
  /** Id of the UI message. */
  readonly messageId: string;
  /** Parts of earlier steps of the UI message. */
  readonly earlier: UIMessage["parts"];
}

/** A request without a response so far. */
export interface SentRequest {
  readonly idempotencyKey: string;
  /** Hash of the request. */
  readonly fingerprint: string;
}

/** The messages in progress of a user, one for each chat. */
export interface ProgressStore {
  read(chatId: string): Promise<Progress | undefined>;
  write(chatId: string, progress: Progress): Promise<unknown>;
  remove(chatId: string): Promise<unknown>;
}

/** Longest waits for a storage, in milliseconds. A message is sent only after its record is written. */
const READ_MS = 3000;
const WRITE_MS = 500;

/**
 * Creates the store of messages in progress. If the storage fails or stalls, a message can't be resumed after a reload,
 * but the chat continues.
 */
export function createProgressStore(client: Client, storage: StreamStorage | undefined): ProgressStore {
  const createKey = (chatId: string) => `sluice/ai-sdk/${client.user ?? ""}/${chatId}`;
  return {
    read: (chatId) =>
      tryStorage(READ_MS, async () => parseProgress(await storage?.getItem(createKey(chatId)))),
    write: (chatId, progress) =>
      tryStorage(WRITE_MS, async () => storage?.setItem(createKey(chatId), JSON.stringify(progress))),
    remove: (chatId) => tryStorage(WRITE_MS, async () => storage?.removeItem(createKey(chatId))),
  };

  async function tryStorage<Result>(ms: number, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await awaitWithin(client.clock, ms, work(), "the storage");
    } catch (cause) {
      const message = `failed, so that a response may not continue after a reload: ${cause}`;
      client.warn({ path: "storage", message, rule: "ai-sdk.storage" });
      return undefined;
    }
  }
}

/** Validates a record, since any script of the page may have written it. */
function parseProgress(text: string | null | undefined): Progress | undefined {
  if (!text) return undefined;
  const { streamId, sent, messageId, earlier } = JSON.parse(text) as Unchecked<Progress>;
  if (typeof messageId !== "string" || !Array.isArray(earlier)) return undefined;
  if (typeof streamId === "string") return { streamId, messageId, earlier };
  const { idempotencyKey, fingerprint } = (sent ?? {}) as Unchecked<SentRequest>;
  if (typeof idempotencyKey !== "string" || typeof fingerprint !== "string") return undefined;
  return { sent: { idempotencyKey, fingerprint }, messageId, earlier };
}

/** A value from a storage: each field may be missing or have a wrong type. */
type Unchecked<Type> = { readonly [Name in keyof Type]?: unknown };
