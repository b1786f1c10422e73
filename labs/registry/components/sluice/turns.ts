import type { ChatMessage } from "@sluice/react";

/** A message of the user, and the responses to it: several if the model calls tools. */
export interface TurnMessages {
  readonly id: string;
  readonly question?: ChatMessage;
  readonly replies: ChatMessage[];
}

/** Groups messages to turns: a question, and the responses to it. */
export function groupTurns(messages: readonly ChatMessage[]): readonly TurnMessages[] {
  const turns: TurnMessages[] = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ id: message.id, question: message, replies: [] });
    else if (message.role === "assistant") {
      if (turns.length === 0) turns.push({ id: message.id, replies: [] });
      turns.at(-1)?.replies.push(message);
    }
  }
  return turns;
}
