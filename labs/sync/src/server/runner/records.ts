import type { ChatMessage, ChatToolCall } from "@sluice/stores";
import type { Changes, RunPlace } from "./place.js";

/** The JSON of a message, as far as a run reads it. Its names are those of the chat that writes it. */
export type KeptMessage = Pick<ChatMessage, "id" | "role" | "outcome" | "createdAt" | "images" | "files"> & {
  readonly content?: unknown;
  readonly streamId?: ChatMessage["streamId"] | undefined;
  readonly idempotencyKey?: ChatMessage["idempotencyKey"] | undefined;
  readonly toolCalls?: readonly KeptCall[];
  readonly error?: { readonly name?: string; readonly reason?: string; readonly code?: string } | undefined;
};

/** The JSON of a tool call, as far as a run reads it. */
export type KeptCall = Pick<ChatToolCall, "id" | "name" | "state" | "savedState" | "error">;

/** The record of a message. */
export interface MessageRecord {
  readonly message: KeptMessage;
  readonly parent: string | null;
  readonly revision: number;
  /** Device that added it; `server` for an answer of a run. */
  readonly by?: string;
  /** True once a device has stopped the answer. */
  readonly isStopped?: boolean;
}

/** The device of a run: nobody but the run ends an answer that it has added. */
export const SERVER = "server";

/** Key of the record with the id of the last shown message. */
export const LEAF = "/leaf";

/** Key of the record by which a device answers a call: `{ approved }`, `{ denied }` or `{ output }`. */
export function reactionKey(messageId: string, callId: string): string {
  return `/reaction/${messageId}/${callId}`;
}

/** Key of the record by which one device takes a call of a page's tool: only the first one is taken. */
export function claimKey(messageId: string, callId: string): string {
  return `/claim/${messageId}/${callId}`;
}

/** Returns the record of a message; undefined for anything else. */
export function messageIn(record: unknown): MessageRecord | undefined {
  const { message, revision } = (record ?? {}) as Partial<MessageRecord>;
  if (typeof message !== "object" || message === null || typeof message.role !== "string") return undefined;
  const { parent = null, by, isStopped } = record as MessageRecord;
  return {
    message,
    parent,
    revision: Number.isSafeInteger(revision) ? Number(revision) : 0,
    ...(typeof by === "string" && { by }),
    ...(isStopped === true && { isStopped }),
  };
}

/** Most characters of the messages before a question that a run reads. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Reads the messages from the newest one up, as many as a run may have, and no other: the cost does not depend on the
 * rest of the conversation. The first one is a question.
 */
export function pathTo(place: Pick<RunPlace, "read">, tip: string, most: number): MessageRecord[] {
  const path: MessageRecord[] = [];
  const seen = new Set<string>();
  let characters = 0;
  for (let id: string | null = tip; id !== null && path.length < most && !seen.has(id); ) {
    const record = messageIn(place.read(id));
    characters += record ? JSON.stringify(record).length : 0;
    if (!record || (path.length > 0 && characters > MOST_CHARACTERS)) break;
    seen.add(id);
    path.unshift({ ...record, message: { ...record.message, id } });
    id = record.parent;
  }
  const isCut = path[0]?.parent !== null;
  const first = path.findIndex(({ message }) => message.role === "user");
  return isCut && first > 0 ? path.slice(first) : path;
}

/** Counts the answers since the last question. */
export function stepsIn(path: readonly MessageRecord[]): number {
  return path.length - 1 - path.findLastIndex(({ message }) => message.role === "user");
}

export function isPendingCall({ state }: KeptCall): boolean {
  return state === "needs-approval" || state === "needs-output";
}

export function isInFlight({ role, outcome }: KeptMessage): boolean {
  return role === "assistant" && outcome === undefined;
}

/** True for an answer whose rest is lost, or that was left to be read on. */
export function isInterrupted({ outcome, error }: KeptMessage): boolean {
  return outcome === "truncated" && error?.reason === "interrupted";
}

/** True for an answer that was left in flight, to be read on. The others have a code. */
export function isReadOn(message: KeptMessage): boolean {
  return isInterrupted(message) && message.error?.code === undefined;
}

/** Replaces a message by a newer one. */
export function changedRecord(record: MessageRecord, fields: Partial<KeptMessage>): MessageRecord {
  return { ...record, message: { ...record.message, ...fields }, revision: record.revision + 1 };
}

/** Ends the open calls of a message: the model and the user read `reason`. */
export function closedCalls({ toolCalls }: KeptMessage, reason: string): Pick<KeptMessage, "toolCalls"> {
  const isOpen = (call: KeptCall) => isPendingCall(call) || ["running", "streaming"].includes(call.state);
  if (!toolCalls?.some(isOpen)) return {};
  return {
    toolCalls: toolCalls.map((call) =>
      isOpen(call) ? { ...call, state: "cancelled", error: reason } : call,
    ),
  };
}

/** Makes the changes of one record. */
export function change(key: string, value: unknown): Changes {
  return new Map([[key, value]]);
}
