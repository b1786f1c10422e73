import type { ChatResult } from "@sluice/core";

const SHORTFALLS: Partial<Readonly<Record<ChatResult["outcome"], string>>> = {
  length: "The response was cut: it reached max_tokens.",
  "content-filter": "The response was cut by the content filter.",
  "insufficient-resource": "The response was cut: the gateway had no capacity left.",
  unconfirmed: "The response may be incomplete.",
};

/** Explains why a message is incomplete. Returns undefined for a complete message. */
export function describeShortfall({ outcome, refusal }: ChatResult): string | undefined {
  return refusal === undefined ? SHORTFALLS[outcome] : `The model refuses: ${refusal}`;
}
