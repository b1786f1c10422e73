import { ConfigurationError, ValidationError } from "@sluice/core";
import { createRandomId } from "@sluice/core/extend";
import type { ImageInput } from "./attachments.js";
import { optionalParts } from "./load-optional-parts.js";
import { type ChatMessage, closeToolCalls, isContinued, isOpen, isPending } from "./message.js";
import type { Thread } from "./thread.js";

/** Point of a thread at which a turn begins. */
export interface InsertionPoint {
  /** Id of the message that the turn follows; undefined before the first message. */
  readonly parentId: string | undefined;
  /** Ids of the messages added for the turn. */
  readonly added: readonly string[];
  /** Idempotency key of the first request: of the lost request that the turn repeats, or a new key for a new version. */
  readonly idempotencyKey?: string | undefined;
  /** The response that the turn repeats, if a proxy may still store it. It is read before a new request. */
  readonly storedResponse?: ChatMessage | undefined;
  /** Id of a response that a closed tab has left unfinished. The turn reads it to its end first. */
  readonly interruptedId?: string | undefined;
}

/**
 * Finds the insertion point of a turn and adds its question there. Throws synchronously, without a change, if there is
 * no such point. Rejects if the question cannot be added, and when the signal aborts.
 */
export type FindInsertionPoint = (signal: AbortSignal) => InsertionPoint | Promise<InsertionPoint>;

/** A new message of the user. */
export interface Question {
  /** Id of the message. @default a new id */
  readonly id?: string | undefined;
  readonly content: string;
  /** Default: no images, or the images of the original. */
  readonly images?: readonly ImageInput[] | undefined;
  /** Id of the original if this message is another version of it. */
  readonly originalId?: string | undefined;
}

/**
 * Adds a question below the shown messages, or as another version of a question. Without images it is added
 * synchronously, so that the next frame shows it.
 *
 * @param model model of the request; it decides about images
 */
export function addQuestion(
  thread: Thread,
  { id = createRandomId(), content, images, originalId }: Question,
  model: string,
  signal: AbortSignal,
): InsertionPoint | Promise<InsertionPoint> {
  const original = thread.get(originalId)?.message;
  if (originalId !== undefined && original?.role !== "user")
    throw createUnknownIdError(originalId, "message of the user");
  const parentId = originalId === undefined ? thread.path.at(-1)?.id : thread.getParent(originalId);
  const inputs = images ?? original?.images ?? [];
  assertContent(content, inputs);
  return inputs.length > 0 ? addWithImages() : add({});

  async function addWithImages(): Promise<InsertionPoint> {
    // loaded with the first image, because most chats send none
    const { readImageURLs } = await optionalParts.load();
    const urls = await readImageURLs(inputs, model, signal);
    signal.throwIfAborted();
    return add({ images: urls });
  }

  function add(fields: { images?: readonly string[] }): InsertionPoint {
    closeLastCalls(thread, CONTINUED);
    thread.add({ id, role: "user", content, ...fields, createdAt: Date.now() }, parentId);
    return { parentId: id, added: [id] };
  }
}

/**
 * Checks that a question has text or images.
 *
 * @throws {ValidationError} if it has neither
 */
export function assertContent(content: string, images: readonly ImageInput[]): void {
  if (typeof content === "string" && (content.trim() !== "" || images.length > 0)) return;
  const message = "must be text that is not empty, unless there are images";
  throw new ValidationError([{ path: "content", message, rule: "chat.content" }]);
}

/**
 * Finds the insertion point of a retry: `last` failed, was stopped, or called tools. Responses with tool calls stay, with
 * their results.
 */
export function findRetryPoint(thread: Thread, last: ChatMessage | undefined): InsertionPoint {
  if (!last || last.role === "system" || last.outcome === "complete")
    throw new ConfigurationError(
      "there is nothing to retry: the last response is complete; regenerate() requests another version",
    );
  if (isContinued(last)) {
    const { error: _, ...response } = closeToolCalls(last, CONTINUED);
    thread.put({ ...response, outcome: "tool-calls" });
  }
  const parentId = findRetryParent(thread, last);
  // if the failed response is not shown, the newest response at that point is repeated
  const failed = parentId === last.id ? findResponsesAround(thread, last).at(-1) : last;
  return {
    parentId,
    added: [],
    idempotencyKey: failed?.idempotencyKey,
    storedResponse: failed?.streamId ? failed : undefined,
  };
}

/**
 * Returns the responses below `last`, and the versions of the response that a retry of `last` repeats. Another tab that
 * continues or retries adds a response to them.
 */
export function findResponsesAround(thread: Thread, last: ChatMessage): readonly ChatMessage[] {
  const parents = [last.id, findRetryParent(thread, last)];
  const ids = thread.listIds().filter((id) => parents.includes(thread.getParent(id)));
  return ids.flatMap((id) => thread.get(id)?.message ?? []).filter(({ role }) => role === "assistant");
}

function findRetryParent(thread: Thread, last: ChatMessage): string | undefined {
  return last.role === "user" || isContinued(last) ? last.id : thread.getParent(last.id);
}

/** Finds the insertion point of another version of the response `messageId`, or of the last turn. */
export function findVersionPoint(thread: Thread, messageId: string | undefined): InsertionPoint {
  if (messageId === undefined) {
    const question = thread.path.findLast(({ role }) => role === "user");
    if (!question) throw new ConfigurationError("there is nothing to regenerate: no message of the user yet");
    return { parentId: question.id, added: [], idempotencyKey: createRandomId() };
  }
  const node = thread.get(messageId);
  if (node?.message.role !== "assistant") throw createUnknownIdError(messageId, "response");
  return { parentId: thread.getParent(messageId), added: [], idempotencyKey: createRandomId() };
}

const CONTINUED = "the user continued without the call";

/** Closes the open tool calls of the last shown message. */
export function closeLastCalls(thread: Thread, reason: string): void {
  const last = thread.path.at(-1);
  if (last?.toolCalls?.some(isOpen)) thread.put(closeToolCalls(last, reason));
}

/**
 * Closes the pending calls above the last shown message. Another tab continued the thread before it knew them, and no
 * method reaches them.
 */
export function closeSkippedCalls(thread: Thread): void {
  for (const message of thread.path.slice(0, -1))
    if (message.toolCalls?.some(isPending)) thread.put(closeToolCalls(message, CONTINUED, isPending));
}

function createUnknownIdError(messageId: string, kind: string): ConfigurationError {
  return new ConfigurationError(`messageId: there is no ${kind} with the id "${messageId}" in this chat`);
}
