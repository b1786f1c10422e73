import type { Client } from "@sluice/core";
import type { Answer } from "../draft.js";
import type { Place } from "../insertion-point.js";
import { isOpen, type ThreadMessage, type ThreadTurn } from "../message.js";
import type { ChatStoreOptions } from "../options.js";
import type { Shown } from "../shown.js";
import type { StorageSession } from "../storage-session.js";
import type { ToolCalls } from "../tool-calls.js";

/** Parts that a turn needs. */
export interface TurnContext extends Shown {
  readonly client: Client;
  /** The chat's `id`, for the events of its calls. */
  readonly chatId: string | undefined;
  readonly storage: StorageSession;
  readonly options: () => ChatStoreOptions;
  /** Ends the turn. After its signal has aborted, the turn writes nothing into the thread. */
  readonly owner: AbortController;
  readonly place: Place | Promise<Place>;
  /** The first answer of the turn, if a closed tab has left it unfinished. */
  readonly left?: ThreadMessage | undefined;
  /** Id of the message that the turn works on: an answer in flight, or one whose calls wait. */
  workedOn: string | undefined;
  readonly onEnd: (turn: ThreadTurn) => void;
}

/**
 * Phase of a turn that has not ended.
 *
 * - `requesting`: its question is added, or its next request is made
 * - `answering`: an answer streams, then its calls are checked
 * - `running-tools`: calls of its last answer run, and others may wait for the user; without `calls` while their code
 * is loaded
 *
 * `shown` is the answer as it was last put into the thread.
 */
export type TurnPhase =
  | { readonly name: "requesting" }
  | { readonly name: "answering"; readonly answer: Answer; shown?: ThreadMessage }
  | { readonly name: "running-tools"; readonly calls?: ToolCalls };

/** A turn in flight. While it runs, only this turn writes answers into the thread. */
export interface Run extends TurnContext {
  readonly turn: Promise<ThreadTurn>;
  phase: TurnPhase;
  /** Ids of the messages that the turn has added, in order. */
  readonly added: string[];
  /** The code for tool calls, once it is needed. */
  loading?: Promise<ToolCalls>;
  /** Resolves the promise of the turn. */
  readonly resolve: (turn: ThreadTurn) => void;
}

/** Phase between two answers. */
export const REQUESTING: TurnPhase = { name: "requesting" };

/** True once the turn has ended, was stopped, or was replaced by another one. */
export function hasEnded({ owner }: Run): boolean {
  return owner.signal.aborted;
}

/** Lists the messages of a turn that are in the thread. */
export function messagesOf({ thread, added }: Run): readonly ThreadMessage[] {
  return added.flatMap((id) => thread.node(id)?.message ?? []);
}

/** True for an answer with a tool call that has neither an output nor an error. */
export function hasOpenCalls({ thread }: Run, id: string | undefined): boolean {
  return thread.node(id)?.message.toolCalls?.some(isOpen) ?? false;
}
