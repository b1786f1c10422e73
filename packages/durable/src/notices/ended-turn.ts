/** The end of a turn that a conversation did on the server, as its notices tell of it. */
export interface EndedTurn {
  /** Id of this end, the same in each attempt to tell of it: 32 hex digits. */
  readonly id: string;
  /** Id of the turn: that of its question, or the one that the page gave to a repetition. */
  readonly turnId: string;
  /** The app's id of the conversation. */
  readonly conversation: string;
  /** Id of the last message. */
  readonly messageId: string;
  /** The id that `authenticate` returned. */
  readonly userId: string;
  /** The model that answered: that of the `runner`, or of the image or video of a schedule. */
  readonly model: string;
  /** As in the event of the turn; a turn that its user has stopped is not told of. */
  readonly outcome: "complete" | "refused" | "failed" | "cut" | "lost";
  readonly code?: string | undefined;
  /** Name of the conversation in the user's list, where the option `title` asks for it. */
  readonly title?: string | undefined;
  /** Beginning of the last message, where the option `textCharacters` asks for it. */
  readonly text?: string | undefined;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** The `x-request-id` of the request that began the turn. */
  readonly requestId?: string | undefined;
}

/** Cuts a text, and no letter of two units. */
export function cutAt(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}
