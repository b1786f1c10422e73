/**
 * Returns a bound of the tokens of a chat request: one for each byte of its JSON as UTF-8. No tokenizer makes more tokens
 * than bytes of a text, also not of Chinese or of emoji. Images of messages count by their number; a text that only looks
 * like one counts as text.
 *
 * @param body request, or the part of it that is counted
 * @param image tokens of an image, sent as a data URI or by its address
 * @example
 * ```ts
 * const most = requestTokens({ messages: [{ role: "user", content: "Why is the sky blue?" }] });
 * ```
 */
export function requestTokens(body: Readonly<Record<string, unknown>>, image = 10_000): number {
  const images = [body["messages"]].flat().flatMap((message) => imagesOf(message as Message));
  const embedded = images.reduce((sum, url) => sum + (/^data:/i.test(url) ? url.length : 0), 0);
  const bytes = new TextEncoder().encode(JSON.stringify(body)).length - embedded;
  return bytes + images.length * image;
}

type Message =
  | { readonly content?: readonly { readonly image_url?: { readonly url?: unknown } }[] }
  | undefined;

function imagesOf(message: Message): readonly string[] {
  const urls = [message?.content].flat().map((part) => part?.image_url?.url);
  return urls.filter((url) => typeof url === "string");
}
