import type { Client, Outcome, RecordStorage } from "@sluice/core";
import type { ChatMessage } from "./message.js";

/** Runs the turns of a chat elsewhere: on a server, in a worker, in an agent. {@link customRunner} gives it to a chat. */
export interface TurnRunner {
  /**
   * Runs a turn, or continues it if the runner knows its id. After a reload, and in other tabs, the chat calls it again
   * with the same id. Resolves when the turn has ended, or waits for the user or the app: the chat then shows the calls
   * of the last message.
   *
   * @throws an error if no request was sent. Its turn is `not-sent`, or `error` if it has messages
   */
  run(turn: RunnerTurn, context: RunnerContext): Promise<RunnerEnd>;
  /** Ends a turn. The chat has ended its part already, and ignores errors. */
  stop?(turn: RunnerTurn): Promise<void> | void;
  /**
   * Passes the user's decision on a call of a waiting turn. The chat then calls `run` again. The first decision of all
   * devices counts.
   *
   * @throws an error if the decision did not arrive. The call then waits again
   */
  decide?(turn: RunnerTurn, decision: CallDecision): Promise<void>;
}

/** Value of the option `runner` of a chat: {@link customRunner} with your own {@link TurnRunner}. */
export interface ChatRunner {
  /** Opens the runner for a chat. It brings the code, so that a page without a runner does not contain it. */
  readonly openRunner: (chat: never) => unknown;
}

/** A turn of a {@link TurnRunner}. */
export interface RunnerTurn {
  /** Id of the turn: the same in all tabs and devices, and after a reload. */
  readonly id: string;
  readonly client: Client;
  /** Id of the chat. */
  readonly chatId: string | undefined;
  /** Storage of the chat. It has the question when `run` is called, unless it fails. */
  readonly storage: RecordStorage | undefined;
  /** Id of the user's message that the turn follows. */
  readonly question: string;
  /** Messages up to the question. */
  readonly messages: readonly ChatMessage[];
  readonly model: string;
  /** Parameters of the requests to the model. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** What a turn of a {@link TurnRunner} may use while it runs. */
export interface RunnerContext {
  /** Aborts when the user stops the turn or the chat is closed. */
  readonly signal: AbortSignal;
  /**
   * Adds a message of the turn, or replaces the message with its id, by default below the turn's last message. A message
   * without `outcome` is in flight. Not needed if the messages come through the storage, with the id of the turn as
   * `turn` of their records.
   */
  put(message: ChatMessage, parentId?: string): void;
}

/** End of a turn of a {@link TurnRunner}. */
export interface RunnerEnd {
  /** Outcome of the turn. @default the outcome of its last message */
  readonly outcome?: Outcome | undefined;
  /** Error of the turn. @default the error of its last message */
  readonly error?: Error | undefined;
}

/** Decision on a tool call that waits for the user or the app. */
export type CallDecision = { readonly messageId: string; readonly toolCallId: string } & CallChoice;

/** A decision, for whichever call. */
export type CallChoice =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly reason: string }
  | { readonly type: "output"; readonly output: unknown };
