import type { ThreadNode } from "@sluice/core";
import { costOf } from "@sluice/core/prices";
import { Cost } from "@/components/sluice/cost";
import { prices } from "../prices.js";
import { imaginary } from "../words.js";

/**
 * The cost of a conversation, by the imaginary prices of the studio: also of the versions that are not shown. An answer in
 * flight does not count yet.
 */
export function ChatCost({ thread }: { readonly thread: readonly ThreadNode[] }) {
  const ended = thread.filter(({ message }) => message.outcome !== undefined);
  return ended.length > 0 && <Cost cost={costOf(ended, prices)} words={imaginary} />;
}
