const IMAGE_DATA_URL = /^data:image\/(?:jpe?g|png|gif|webp);base64,[\w+/]+={0,2}$/i;

/**
 * Returns true if `url` is valid in an image part.
 *
 * @example
 * ```ts
 * const isUsable = isImageURL("https://a.example/reef.png");
 * ```
 */
export function isImageURL(url: string): boolean {
  return IMAGE_DATA_URL.test(url) || (/^https?:/i.test(url) && URL.canParse(url));
}
