"use client";

import type { Prices } from "@sluice/prices";
import type { ChatMessage } from "@sluice/react";
import { useDeferredValue } from "react";
import { priceOf } from "@/components/sluice/cost-text";
import { costWords } from "@/components/sluice/words";

interface MessageCostProps {
  /** Model of the answer. */
  readonly model: string;
  readonly prices: Prices;
  /** Text that is written. */
  readonly text: string;
  /** Number of images beside it. @default 0 */
  readonly images?: number;
  /** Messages that go with it: `messages` of `useChatStream`. */
  readonly messages: readonly ChatMessage[];
  /** System prompt. @default none */
  readonly instructions?: string | undefined;
  /** `max_tokens` of the request. @default nothing bounds the answer */
  readonly maxTokens?: number | undefined;
  /** True where tools are offered: their results are sent, too. @default false */
  readonly hasTools?: boolean;
  readonly words?: Partial<typeof costWords>;
}

/**
 * The cost of a message before it is sent: the most that it can be for what goes out, and that of the answer. Without
 * prices for the model, nothing is shown.
 */
export function MessageCost({ model, prices, messages, hasTools = false, ...props }: MessageCostProps) {
  const { images = 0, instructions = "", maxTokens } = props;
  const words = { ...costWords, ...props.words };
  // deferred: a long text must not delay a keystroke
  const text = useDeferredValue(props.text);
  const { input, output } = prices.models[model] ?? {};
  if (input === undefined || output === undefined) return null;
  const tokens = messages.reduce(
    (sum, message) => sum + countMessage(message),
    countTokens({ content: [instructions, text] }, images),
  );
  const writeCost = (price: number, count: number) =>
    `${priceOf((price * count) / 1_000_000)} ${prices.currency}`;
  const sent = writeCost(input, tokens);
  // with tools there may be several requests
  const answer =
    maxTokens === undefined || hasTools
      ? words.someAnswer(writeCost(output, SOME_TOKENS), SOME_TOKENS.toLocaleString("en"))
      : words.wholeAnswer(writeCost(output, maxTokens));
  return (
    <p className="text-xs text-muted-foreground tabular-nums">
      {hasTools ? words.sendWithTools(words.title, sent) : words.send(words.title, sent)} {answer}
    </p>
  );
}

/** Tokens of an answer for which its cost is said where nothing bounds it. */
const SOME_TOKENS = 1000;

const TOKENS_PER_IMAGE = 10_000;
const counted = new WeakMap<ChatMessage, number>();

/** Bounds the tokens of a message that is sent again with the next one. It is counted once: a thread may be long. */
function countMessage(message: ChatMessage): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const { role, content, images = [], toolCalls } = message;
  const tokens = countTokens({ role, content, toolCalls }, role === "user" ? images.length : 0);
  counted.set(message, tokens);
  return tokens;
}

/** Bounds the tokens of a message as a request sends it. No tokenizer makes more tokens than bytes of a text. */
function countTokens(message: object, images: number): number {
  const request = JSON.stringify({ messages: [message] });
  return new TextEncoder().encode(request).length + images * TOKENS_PER_IMAGE;
}
