import type { ThreadMessage } from "@sluice/core";
import { costOf } from "@sluice/core/prices";
import { prices } from "../prices.js";
import { costWords } from "../words.js";

/** The cost of the answers that are shown, by the imaginary prices of the studio. One in flight does not count yet. */
export function ChatCost({ messages }: { readonly messages: readonly ThreadMessage[] }) {
  const ended = messages.filter(({ outcome }) => outcome !== undefined);
  const words = ended.length > 0 && costWords(costOf(ended, prices));
  return words && <p className="shrink-0 px-2 text-xs text-muted tabular-nums">{words}</p>;
}
