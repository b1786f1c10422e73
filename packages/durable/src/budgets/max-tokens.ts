import { ensure, type Payable } from "@sluice/worker-proxy/plugin";

/** Options of {@link maxTokens}. */
export interface MaxTokensOptions {
  /** Tokens of a response to a request without `max_tokens`. @default 8192 */
  readonly response?: number | undefined;
  /** Tokens of one image in the request, given as a data URI or by URL. @default 10_000 */
  readonly image?: number | undefined;
}

/**
 * Creates the `reserve` of a budget in tokens. It returns the maximum number of tokens of one chat response:
 * `max_tokens`, plus one token for each UTF-8 byte of the request. A tokenizer never makes more tokens than a text has
 * bytes, including Chinese and emoji. Each image of a message adds `image` tokens; text that only looks like an image
 * counts as text.
 *
 * @throws {TypeError} for a number below 0
 * @example
 * ```ts
 * const tokens = maxTokens({ response: 4096 });
 * const plugin = budget({
 *   limits: { user: 200_000 },
 *   windowMs: 86_400_000,
 *   reserve: (payable) => (payable.route === "chat" ? tokens(payable) : 40_000),
 * });
 * ```
 */
export function maxTokens({
  response = 8192,
  image = 10_000,
}: MaxTokensOptions = {}): (request: Pick<Payable<never>, "body">) => number {
  for (const [name, tokens] of Object.entries({ response, image }))
    ensure(Number.isSafeInteger(tokens) && tokens >= 0, `${name}: give a whole number of tokens`);
  return ({ body = {} }) => countTokens(body, image) + (Number(body["max_tokens"]) || response);
}

function countTokens(body: Readonly<Record<string, unknown>>, image: number): number {
  const images = [body["messages"]].flat().flatMap((message) => findImages(message as Message));
  const embedded = images.reduce((sum, url) => sum + (/^data:/i.test(url) ? url.length : 0), 0);
  const bytes = new TextEncoder().encode(JSON.stringify(body)).length - embedded;
  return bytes + images.length * image;
}

type Message =
  | { readonly content?: readonly { readonly image_url?: { readonly url?: unknown } }[] }
  | undefined;

function findImages(message: Message): readonly string[] {
  const urls = [message?.content].flat().map((part) => part?.image_url?.url);
  return urls.filter((url) => typeof url === "string");
}
