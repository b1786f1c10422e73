import type { ChatRequestMessage } from "@sluice/core";

/** Text of a message; its parts are joined by line breaks. */
export function textOf({ content }: ChatRequestMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
