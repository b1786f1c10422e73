import { calculateCost, definePrices, estimateCost } from "@sluice/prices";
import type { ChatMessage, ChatNode } from "@sluice/react";
import type { ReactNode } from "react";
import { Cost, Estimate } from "@/components/sluice/cost";
import { MessageCost } from "@/components/sluice/message-cost";
import { type ChatSettings, toolNamesOf } from "./chat/settings.js";
import { imaginary } from "./words.js";

/*
 * Prices that nobody asks: the studio runs on the emulator, which is free. They show where an app puts its own. Each
 * sentence about them says that they are imaginary.
 */

const video = { "480p": 20, "720p": 50, "1080p": 100, "4k": 400 };

/** The imaginary prices of the studio. */
export const prices = definePrices({
  currency: "coins",
  models: {
    "alpha-v4.1-flash": { input: 300, cachedInput: 30, output: 900 },
    "gamma-chat-1-6-251015": { input: 200, output: 600 },
    "delta-5.3": { input: 600, output: 2400 },
    "gamma-image-4-0-250828": { image: 20 },
    "gamma-image-5-0-260128": { image: 30 },
    "beta3.0-video": { second: video },
    "beta3.0-video-prime": { second: { "480p": 40, "720p": 100, "1080p": 200 } },
    "gamma-video-1-5-pro-251215": {
      second: { "480p": 20, "720p": 40, "1080p": 80 },
      secondWithAudio: { "480p": 30, "720p": 60, "1080p": 120 },
    },
    "gamma-video-1-0-pro-fast-251015": { second: { "480p": 10, "720p": 20, "1080p": 40 } },
    "gamma-video-2.0": { second: video },
    "gamma-video-fast": { second: { "480p": 10, "720p": 30 } },
    "gamma-asset": { asset: 1 },
  },
});

/**
 * The cost of a conversation, by the imaginary prices of the studio: also of the versions that are not shown. An answer in
 * flight does not count yet.
 */
export function ChatCost({ thread }: { readonly thread: readonly ChatNode[] }) {
  const ended = thread.filter(({ message }) => message.outcome !== undefined);
  return ended.length > 0 && <Cost cost={calculateCost(ended, prices)} words={imaginary} />;
}

interface NextCostProps {
  readonly text: string;
  /** Number of images beside the text. */
  readonly images: number;
  readonly messages: readonly ChatMessage[];
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

/** A button, and what its request will cost by the imaginary prices of the studio. */
export function WithEstimate({
  request,
  children,
}: {
  readonly request: Parameters<typeof estimateCost>[0];
  readonly children: ReactNode;
}) {
  return (
    <Estimate estimate={estimateCost(request, prices)} words={imaginary}>
      {children}
    </Estimate>
  );
}
