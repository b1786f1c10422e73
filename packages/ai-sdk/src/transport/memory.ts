import type { Client } from "@sluice/core";
import { awaitWithin } from "@sluice/core/internal";
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

/** An answer in progress, as the storage keeps it: before its headers by its request, then by its id. */
export interface Progress {
  /** Id of the answer at the proxy. */
  readonly streamId?: string;
  /** Request that was sent, and the key by which the proxy knows it again. */
  readonly sent?: SentRequest;
  /** Id of the message that shows it. */
  readonly messageId: string;
  /** Parts of earlier steps of that message. */
  readonly earlier: UIMessage["parts"];
}

/** A request whose answer has not begun. */
export interface SentRequest {
  readonly idempotencyKey: string;
  readonly fingerprint: string;
}

/** The answers in progress of a user, one for each chat. */
export interface Memory {
  read(chatId: string): Promise<Progress | undefined>;
  write(chatId: string, progress: Progress): Promise<unknown>;
  remove(chatId: string): Promise<unknown>;
}

/** Longest waits for a storage, in milliseconds. A message is sent after its record is written. */
const READ_MS = 3000;
const WRITE_MS = 500;

/**
 * Creates the memory of a transport. A storage that fails, or does not answer, costs the resumption after a reload, and no
 * answer.
 */
export function createMemory(client: Client, storage: StreamStorage | undefined): Memory {
  const keyOf = (chatId: string) => `sluice/ai-sdk/${client.user ?? ""}/${chatId}`;
  return {
    read: (chatId) => attempt(READ_MS, async () => progressIn(await storage?.getItem(keyOf(chatId)))),
    write: (chatId, progress) =>
      attempt(WRITE_MS, async () => storage?.setItem(keyOf(chatId), JSON.stringify(progress))),
    remove: (chatId) => attempt(WRITE_MS, async () => storage?.removeItem(keyOf(chatId))),
  };

  async function attempt<Result>(ms: number, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await awaitWithin(client.clock, ms, work(), "the storage");
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
  const { streamId, sent, messageId, earlier } = JSON.parse(text) as Loose<Progress>;
  if (typeof messageId !== "string" || !Array.isArray(earlier)) return undefined;
  if (typeof streamId === "string") return { streamId, messageId, earlier };
  const { idempotencyKey, fingerprint } = (sent ?? {}) as Loose<SentRequest>;
  if (typeof idempotencyKey !== "string" || typeof fingerprint !== "string") return undefined;
  return { sent: { idempotencyKey, fingerprint }, messageId, earlier };
}

type Loose<Type> = { readonly [Name in keyof Type]?: unknown };
