import type { Payable } from "@sluice/worker-proxy";

/** Options of {@link mostTokens}. */
export interface MostTokensOptions {
  /** Tokens of an answer whose request has no `max_tokens`. @default 8192 */
  readonly answer?: number | undefined;
  /** Tokens of an image, sent in the request as a data URI or by its address. @default 10_000 */
  readonly image?: number | undefined;
}

/**
 * Returns a bound of the tokens that one chat answer can cost: `max_tokens`, and a token for each byte of the request as
 * UTF-8. No tokenizer makes more tokens than bytes of a text, also not of Chinese or of emoji. Images of messages count
 * by their number; a text that only looks like one counts as text.
 *
 * @example
 * ```ts
 * const reserveFor = (payable: Payable<Env>) => (payable.route === "chat" ? mostTokens(payable) : 40_000);
 * ```
 */
export function mostTokens(
  { body = {} }: Pick<Payable<never>, "body">,
  { answer = 8192, image = 10_000 }: MostTokensOptions = {},
): number {
  return countTokens(body, image) + (Number(body["max_tokens"]) || answer);
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
