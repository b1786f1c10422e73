import type { Payable } from "../admitted.js";

/** Options of {@link mostTokens}. */
export interface MostTokensOptions {
  /** Tokens of an answer whose request has no `max_tokens`. @default 8192 */
  readonly answer?: number | undefined;
  /** Tokens of an image that is sent in the request as a data URI. @default 10_000 */
  readonly image?: number | undefined;
}

/**
 * Returns a bound of the tokens that one chat answer can cost: `max_tokens`, and a token for each byte of the request as
 * UTF-8. No tokenizer makes more tokens than bytes of a text, also not of Chinese or of emoji. Images in the request
 * count by their number.
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
  let images = 0;
  const text = JSON.stringify(body, (_, value) => {
    if (typeof value !== "string" || !/^data:/i.test(value)) return value;
    images += 1;
    return "";
  });
  return new TextEncoder().encode(text).length + images * image + (Number(body["max_tokens"]) || answer);
}
