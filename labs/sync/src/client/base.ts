import { type Client, ConfigurationError, type MediaUploader } from "@sluice/core";
import { type createBackoff, type createListeners, createRandomId } from "@sluice/core/extend";
import type { ChatMessage, ChatToolCall } from "@sluice/stores";
import type { addQuestion, Chat, mergeMessages } from "@sluice/stores/extend";

/* Short names for parts of other types, and functions of a few lines. */

/** The field of a client that separates the data of its users. */
export type Scoped = Pick<Client, "user">;
/** Waits between attempts, up to a limit. */
export type Backoff = ReturnType<typeof createBackoff>;
/** A list of subscribers. */
export type Listeners<Args extends readonly unknown[]> = ReturnType<typeof createListeners<Args>>;
/** The messages of a chat as a tree. */
export type Thread = Chat["thread"];
/** Returns the options of a chat at the time of their use. */
export type ReadOptions = Chat["own"];
/** A message that waits for its turn. */
export type QueuedMessage = Parameters<Chat["queue"]["add"]>[0];
/** Point of a thread at which a turn begins. */
export type InsertionPoint = Awaited<ReturnType<typeof addQuestion>>;
/** A record, merged from two copies. */
export type MergedRecord = NonNullable<ReturnType<typeof mergeMessages>>;

/** Matches the ids that `createRandomId` creates. */
export const OWN = /^\d+(-\d+){3}$/;

/** Creates 128 random bits. */
export function createRandomWords(): number[] {
  return createRandomId().split("-").map(Number);
}

/** Calls `act` when `signal` aborts, or at once if it is aborted. Returns a function that removes the listener. */
export function addAbortListener(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal?.aborted) act();
  signal?.addEventListener("abort", act);
  return () => signal?.removeEventListener("abort", act);
}

/** Returns the prefix of a user's names, as `addUserPrefix` writes it. */
export function formatUserPrefix(user: string): string {
  return JSON.stringify(user);
}

/** Resolves the address of a path of the proxy. */
export function resolveAddress({ baseURL }: Pick<Client, "baseURL">, path: string): string {
  return new URL(baseURL + path, globalThis.location?.href).href;
}

/** Parses the offers of a proxy; undefined without the header. */
export function parseOffers(headers: Headers): readonly string[] | undefined {
  return headers
    .get("x-sluice-offers")
    ?.trim()
    .split(/\s*,\s*/);
}

/** Returns the beginning of a response's text, as errors keep it. */
export function excerpt(text: string): string {
  return text.length > 8192 ? `${text.slice(0, 8192)}…` : text;
}

/** Creates the path of a stored response; undefined for an id that could lead to another path. */
export function createStreamPath(id: unknown): string | undefined {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id) ? `/v1/chat/streams/${id}` : undefined;
}

/**
 * Returns the client's uploader.
 *
 * @throws {ConfigurationError} if the client has none
 */
export function getUploader({ uploads }: Pick<Client, "uploads">): MediaUploader {
  if (uploads) return uploads;
  throw new ConfigurationError("a file can't be uploaded: the client has no `uploads`");
}

/** Returns the last shown message. */
export function getLastMessage({ thread }: Pick<Chat, "thread">): ChatMessage | undefined {
  return thread.path.at(-1);
}

/** Returns true while a tool call waits for the user or the app. */
export function isPending({ state }: ChatToolCall): boolean {
  return state === "needs-approval" || state === "needs-output";
}

/** Returns true while a tool call has neither an output nor an error. */
export function isOpen({ state }: ChatToolCall): boolean {
  return ["streaming", "needs-approval", "needs-output", "running"].includes(state);
}

/** Returns true if another response follows once the calls have results. After an error or a stop, none follows. */
export function isBetweenSteps({ message, isStopped }: NonNullable<ReturnType<Thread["get"]>>): boolean {
  return message.outcome === "tool-calls" && !message.error && !isStopped;
}

/** Creates the error of a turn that was stopped before it began. */
export function createStoppedError(): DOMException {
  return new DOMException("The chat was stopped before its turn", "AbortError");
}

/** Returns the signal that aborts when the chat is stopped. */
export function getStopSignal(chat: Pick<Chat, "stopping">): AbortSignal {
  chat.stopping ??= new AbortController();
  return chat.stopping.signal;
}
