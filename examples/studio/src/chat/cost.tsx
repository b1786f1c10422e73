import type { ThreadMessage, ThreadNode } from "@sluice/core";
import { costOf } from "@sluice/core/prices";
import { Cost } from "@/components/sluice/cost";
import { MessageCost } from "@/components/sluice/message-cost";
import { prices } from "../prices.js";
import { imaginary } from "../words.js";
import { type ChatSettings, toolNamesOf } from "./settings.js";

/**
 * The cost of a conversation, by the imaginary prices of the studio: also of the versions that are not shown. An answer in
 * flight does not count yet.
 */
export function ChatCost({ thread }: { readonly thread: readonly ThreadNode[] }) {
  const ended = thread.filter(({ message }) => message.outcome !== undefined);
  return ended.length > 0 && <Cost cost={costOf(ended, prices)} words={imaginary} />;
}

interface NextCostProps {
  readonly text: string;
  /** Number of images beside the text. */
  readonly images: number;
  readonly messages: readonly ThreadMessage[];
  readonly settings: ChatSettings;
}

/** The cost of what is written, by the same prices, before it is sent. */
export function NextCost({ settings, ...written }: NextCostProps) {
  const { model, values } = settings;
  const { max_tokens: limit } = values;
  return (
    <MessageCost
      {...written}
      model={model}
      prices={prices}
      instructions={settings.instructions.trim()}
      maxTokens={typeof limit === "number" ? limit : undefined}
      hasTools={toolNamesOf(settings) !== undefined}
      words={imaginary}
    />
  );
}
