import type { ThreadNode } from "@sluice/core";
import { costOf } from "@sluice/core/prices";
import { prices } from "../prices.js";
import { costWords } from "../words.js";

/**
 * The cost of a conversation, by the imaginary prices of the studio: also of the versions that are not shown. An answer in
 * flight does not count yet.
 */
export function ChatCost({ thread }: { readonly thread: readonly ThreadNode[] }) {
  const ended = thread.filter(({ message }) => message.outcome !== undefined);
  const words = ended.length > 0 && costWords(costOf(ended, prices));
  return words && <p className="shrink-0 px-2 text-xs text-muted tabular-nums">{words}</p>;
}
