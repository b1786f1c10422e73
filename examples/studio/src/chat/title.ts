import type { ThreadMessage } from "@sluice/core";

const MOST_CHARACTERS = 80;

/** What a conversation is called by its first question, and when the last one was asked; undefined before any. */
export function titleOf(messages: readonly ThreadMessage[]): { title: string; askedAt: number } | undefined {
  const isQuestion = ({ role }: ThreadMessage) => role === "user";
  const first = messages.find(isQuestion);
  const last = messages.findLast(isQuestion);
  if (!first || !last) return undefined;
  const [line = ""] = first.content.trim().split("\n");
  const characters = [...line];
  const title =
    characters.length > MOST_CHARACTERS ? `${characters.slice(0, MOST_CHARACTERS).join("")}…` : line;
  return { title: title || "An image", askedAt: last.createdAt ?? 0 };
}
