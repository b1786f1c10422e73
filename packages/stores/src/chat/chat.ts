import type { Client } from "@sluice/core";
import type { ThreadNode } from "./message.js";
import type { ChatStoreOptions } from "./options.js";
import type { MessageQueue } from "./queue.js";
import type { OpenTurnRunner } from "./runner.js";
import type { Shown } from "./shown.js";
import type { StorageSession } from "./storage-session.js";
import type { Run } from "./turn/state.js";

/** Returns the options at the time of their use. */
export type ReadOptions = () => ChatStoreOptions;

/** State of a chat, and its parts. */
export interface Chat extends Shown {
  readonly client: Client;
  readonly id: string | undefined;
  readonly queue: MessageQueue<ReadOptions>;
  readonly storage: StorageSession;
  /** Lists the messages of all branches. */
  readonly getThread: () => readonly ThreadNode[];
  /** Options of the first caller. */
  readonly own: ReadOptions;
  /** Runs the turns elsewhere; undefined where this page does. */
  readonly runner: OpenTurnRunner | undefined;
  /** Number of turns that this page has handed to the server, and that have not ended. */
  handedOver?: number;
  /** Ends what waits to be handed to the server, when the user stops. */
  stopping?: AbortController | undefined;
  /** Ends the waits for turns of the server, when the chat is closed. */
  closing?: AbortController | undefined;
  /** The turn in flight. */
  run?: Run | undefined;
  /** Error of the last turn; undefined while one is in flight. */
  error?: Error | undefined;
  /** Options of the last turn. */
  options?: ReadOptions;
}
