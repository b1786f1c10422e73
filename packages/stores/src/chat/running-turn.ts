import type { ChatTurn } from "./message.js";

/** The turn in flight of a chat: a turn of this page, or of a runner. */
export interface RunningTurn {
  readonly result: Promise<ChatTurn>;
  /** Id of the message that the page works on: a response in flight or with open calls. */
  readonly workedOn: string | undefined;
  readonly status: "submitted" | "streaming" | undefined;
  /** Puts a response that has grown into the thread. */
  readonly showGrowth: () => void;
  /** Ends the turn at once. The received text stays. */
  readonly stop: () => void;
  /** Ends the part of this page. A runner continues the turn. */
  readonly close: () => void;
  /** Reports that a tool call was approved, denied or answered. */
  readonly noteCallChange: () => void;
}
