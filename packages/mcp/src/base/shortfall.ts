import type { ChatResult } from "@sluice/core";

const ENDINGS: Partial<Readonly<Record<ChatResult["outcome"], string>>> = {
  length: "The answer is cut: it reached max_tokens.",
  "content-filter": "The answer is cut by the content filter.",
  "insufficient-resource": "The answer is cut: the gateway had no capacity left.",
  unconfirmed: "The answer may lack its end.",
};

/** Explains why a message is incomplete. Returns undefined for a complete message. */
export function describeShortfall({ outcome, refusal }: ChatResult): string | undefined {
  return refusal === undefined ? ENDINGS[outcome] : `The model refuses: ${refusal}`;
}
