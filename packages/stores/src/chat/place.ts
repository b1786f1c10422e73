import { ConfigurationError, ValidationError } from "@sluice/core";
import { createRandomId } from "@sluice/core/internal";
import type { ImageInput } from "./attachments.js";
import { type ChatMessage, isContinued, isOpen, isPending, withCallsClosed } from "./message.js";
import type { Thread } from "./thread.js";

/** Point of a thread at which a turn begins. */
export interface Place {
  /** Message that the turn follows; undefined before the first one. */
  readonly below: string | undefined;
  /** Messages that were added for the turn. */
  readonly added: readonly string[];
  /** Key of the request: that of the one which the turn repeats, as nobody knows how it ended, or that of a new version. */
  readonly idempotencyKey?: string | undefined;
  /** The response that the turn repeats, if a proxy may still store it: it is read before another one is requested. */
  readonly stored?: ChatMessage | undefined;
}

/**
 * Finds the insertion point of a turn, and adds its question there. Throws at once, without a change, if there is no
 * such point. Rejects if the question cannot be added, and when the signal aborts.
 */
export type FindPlace = (signal: AbortSignal) => Place | Promise<Place>;

interface Question {
  /** Id of the message; a new one by default. */
  readonly id?: string | undefined;
  readonly content: string;
  readonly images: readonly ImageInput[];
  readonly below: string | undefined;
  readonly model: string;
}

/** Adds a question below a message. Without images it is added at once, so that the next frame shows it. */
export function addQuestion(thread: Thread, question: Question, signal: AbortSignal): Place | Promise<Place> {
  const { id = createRandomId(), content, images, below, model } = question;
  assertContent(content, images);
  return images.length > 0 ? addWithImages() : add({});

  async function addWithImages(): Promise<Place> {
    // loaded with the first image: most chats have none
    const { imageURLs } = await import("./attachments.js");
    const urls = await imageURLs(images, model, signal);
    signal.throwIfAborted();
    return add({ images: urls });
  }

  function add(shown: { images?: readonly string[] }): Place {
    closeCalls(thread, WENT_ON);
    thread.add({ id, role: "user", content, ...shown, createdAt: Date.now() }, below);
    return { below: id, added: [id] };
  }
}

/**
 * Refuses a question without text and images.
 *
 * @throws {ValidationError}
 */
export function assertContent(content: string, images: readonly ImageInput[]): void {
  if (typeof content === "string" && (content.trim() !== "" || images.length > 0)) return;
  const message = "must be text that is not empty, unless there are images";
  throw new ValidationError([{ path: "content", message, rule: "chat.content" }]);
}

/** Adds another version of a question, with the same images unless there are new ones. */
export function addVersion(
  thread: Thread,
  messageId: string,
  version: Omit<Question, "images" | "below"> & { readonly images: readonly ImageInput[] | undefined },
  signal: AbortSignal,
): Place | Promise<Place> {
  const node = thread.node(messageId);
  if (node?.message.role !== "user") throw unknown(messageId, "message of the user");
  const images = version.images ?? node.message.images ?? [];
  return addQuestion(thread, { ...version, images, below: thread.parentOf(messageId) }, signal);
}

/**
 * Finds the insertion point of a retry: `last` failed, was stopped, or called tools. Answers with tool calls are kept
 * with their results.
 */
export function placeOfRetry(thread: Thread, last: ChatMessage | undefined): Place {
  if (!last || last.role === "system" || last.outcome === "complete")
    throw new ConfigurationError(
      "there is nothing to retry: the last answer is whole; regenerate() asks for another",
    );
  if (isContinued(last)) {
    const { error: _, ...answer } = withCallsClosed(last, WENT_ON);
    thread.put({ ...answer, outcome: "tool-calls" });
  }
  const below = belowRetry(thread, last);
  // without its failed answer in sight, the newest one beside it is repeated
  const failed = below === last.id ? answersAround(thread, last).at(-1) : last;
  return {
    below,
    added: [],
    idempotencyKey: failed?.idempotencyKey,
    stored: failed?.streamId ? failed : undefined,
  };
}

/**
 * Returns the answers that follow `last`, and those that a retry of it replaces by another version. Another tab that
 * goes on or retries adds one.
 */
export function answersAround(thread: Thread, last: ChatMessage): readonly ChatMessage[] {
  const parents = [last.id, belowRetry(thread, last)];
  const ids = thread.ids().filter((id) => parents.includes(thread.parentOf(id)));
  return ids.flatMap((id) => thread.node(id)?.message ?? []).filter(({ role }) => role === "assistant");
}

function belowRetry(thread: Thread, last: ChatMessage): string | undefined {
  return last.role === "user" || isContinued(last) ? last.id : thread.parentOf(last.id);
}

/** Finds the insertion point of the answer `messageId`, or of the last turn. */
export function placeOfVersion(thread: Thread, messageId: string | undefined): Place {
  if (messageId === undefined) {
    const question = thread.path.findLast(({ role }) => role === "user");
    if (!question) throw new ConfigurationError("there is nothing to regenerate: no message of the user yet");
    return { below: question.id, added: [], idempotencyKey: createRandomId() };
  }
  const node = thread.node(messageId);
  if (node?.message.role !== "assistant") throw unknown(messageId, "answer");
  return { below: thread.parentOf(messageId), added: [], idempotencyKey: createRandomId() };
}

const WENT_ON = "the user went on without the call";

/** Closes the open tool calls of the last shown message. */
export function closeCalls(thread: Thread, reason: string): void {
  const last = thread.path.at(-1);
  if (last?.toolCalls?.some(isOpen)) thread.put(withCallsClosed(last, reason));
}

/**
 * Closes the calls that wait above the last shown message: another tab went on before it knew them, and no verb reaches
 * them.
 */
export function closePassedCalls(thread: Thread): void {
  for (const message of thread.path.slice(0, -1))
    if (message.toolCalls?.some(isPending)) thread.put(withCallsClosed(message, WENT_ON, isPending));
}

function unknown(messageId: string, kind: string): ConfigurationError {
  return new ConfigurationError(`messageId: there is no ${kind} with the id "${messageId}" in this chat`);
}
