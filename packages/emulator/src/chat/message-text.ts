import type { ChatRequestMessage } from "@sluice/core";

/** Joins the text parts of a message with line breaks. */
export function readText({ content }: ChatRequestMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
