import { ConfigurationError, ValidationError } from "../../errors.js";
import { type ImageInput, imageURLs } from "./attachments.js";
import { createMessageId, isOpen, type ThreadMessage, withCallsClosed } from "./message.js";
import type { Thread } from "./message-tree.js";

/** The place in a thread where a turn begins. */
export interface Place {
  /** The message to answer; undefined before the first one. */
  readonly below: string | undefined;
  /** The messages that were added for it. */
  readonly added: readonly string[];
}

/**
 * Finds a turn's place, and adds its question there. Throws at once, with nothing changed, where there is no such
 * place; rejects if the question cannot be added, or as soon as the signal aborts.
 */
export type FindPlace = (signal: AbortSignal) => Place | Promise<Place>;

interface Question {
  readonly content: string;
  readonly images: readonly ImageInput[];
  readonly below: string | undefined;
  readonly model: string;
}

/** Puts a question below a message; at once if it has no images, so that it is shown in the next frame. */
export function ask(thread: Thread, question: Question, signal: AbortSignal): Place | Promise<Place> {
  const { content, images, below, model } = question;
  assertContent(content, images);
  return images.length > 0
    ? imageURLs(images, model, signal).then((urls) => {
        signal.throwIfAborted();
        return add({ images: urls });
      })
    : add({});

  function add(shown: { images?: readonly string[] }): Place {
    closeCalls(thread, WENT_ON);
    const id = createMessageId();
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

/** Puts another version of a question beside it, with its images unless there are others. */
export function askAgain(
  thread: Thread,
  messageId: string,
  { content, images, model }: { content: string; images: readonly ImageInput[] | undefined; model: string },
  signal: AbortSignal,
): Place | Promise<Place> {
  const node = thread.node(messageId);
  if (node?.message.role !== "user") throw unknown(messageId, "message of the user");
  const shown = images ?? node.message.images ?? [];
  return ask(thread, { content, images: shown, below: thread.parentOf(messageId), model }, signal);
}

/** The place of a retry of `last`: where it failed, was stopped, or left tool calls that nobody answered. */
export function placeOfRetry(thread: Thread, last: ThreadMessage | undefined): Place {
  if (!last || last.role === "system" || last.outcome === "complete")
    throw new ConfigurationError(
      "there is nothing to retry: the last answer is whole; regenerate() asks for another",
    );
  if (last.outcome === "tool-calls") thread.put(withCallsClosed(last, WENT_ON));
  return { below: belowRetry(thread, last), added: [] };
}

/** Number of the answers that a retry of `last` stands beside. */
export function answersBeside(thread: Thread, last: ThreadMessage): number {
  const below = belowRetry(thread, last);
  return thread
    .ids()
    .filter((id) => thread.parentOf(id) === below && thread.node(id)?.message.role === "assistant").length;
}

function belowRetry(thread: Thread, { id, role, outcome }: ThreadMessage): string | undefined {
  return role === "user" || outcome === "tool-calls" ? id : thread.parentOf(id);
}

/** The place where the answer `messageId` began, or the last turn. */
export function placeOfVersion(thread: Thread, messageId: string | undefined): Place {
  if (messageId === undefined) {
    const asked = thread.path.findLast(({ role }) => role === "user");
    if (!asked) throw new ConfigurationError("there is nothing to regenerate: no message of the user yet");
    return { below: asked.id, added: [] };
  }
  const node = thread.node(messageId);
  if (node?.message.role !== "assistant") throw unknown(messageId, "answer");
  return { below: thread.parentOf(messageId), added: [] };
}

const WENT_ON = "the user went on without the call";

/** Closes the tool calls that the last message shown has open. */
export function closeCalls(thread: Thread, reason: string): void {
  const last = thread.path.at(-1);
  if (last?.toolCalls?.some(isOpen)) thread.put(withCallsClosed(last, reason));
}

function unknown(messageId: string, kind: string): ConfigurationError {
  return new ConfigurationError(`messageId: there is no ${kind} with the id "${messageId}" in this chat`);
}
