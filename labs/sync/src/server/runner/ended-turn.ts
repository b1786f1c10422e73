import type { EndedJob } from "@sluice/durable";

/** The end of a turn that a conversation did on the server, as its notices tell of it. */
export interface EndedTurn extends EndedJob {
  /** Id of the turn: that of its question, or the one that the page gave to a repetition. */
  readonly turnId: string;
  /** The app's id of the conversation. */
  readonly conversation: string;
  /** Id of the last message. */
  readonly messageId: string;
  /** The model that answered: that of the `runner`. */
  readonly model: string;
  /** As in the event of the turn; a turn that its user has stopped is not told of. */
  readonly outcome: "complete" | "refused" | "failed" | "cut" | "lost";
  readonly code?: string | undefined;
  /** Name of the conversation in the user's list, where the option `title` asks for it. */
  readonly title?: string | undefined;
  /** Beginning of the last message, where the option `textCharacters` asks for it. */
  readonly text?: string | undefined;
}

/** Makes the event that a webhook sends of a turn: `turn.` with the outcome. */
export function eventOfTurn({
  turnId,
  conversation,
  messageId,
  userId,
  model,
  outcome,
  code,
  title,
  text,
}: Omit<EndedTurn, "id" | "event">): EndedJob["event"] {
  const data = {
    id: turnId,
    user: userId,
    conversation,
    message: messageId,
    model,
    outcome,
    code,
    title,
    text,
  };
  return { type: `turn.${outcome}`, data };
}

/** Cuts a text, and no letter of two units. */
export function cutAt(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
}
