/** Parses the offers of a proxy from the header `x-sluice-offers`; undefined without the header. */
export function parseOffers(headers: Headers): readonly string[] | undefined {
  return headers
    .get("x-sluice-offers")
    ?.trim()
    .split(/\s*,\s*/);
}
