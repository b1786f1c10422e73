/** Returns what a proxy offers, from the header `x-sluice-offers`; undefined without one. */
export function parseOffers(headers: Headers): readonly string[] | undefined {
  return headers
    .get("x-sluice-offers")
    ?.trim()
    .split(/\s*,\s*/);
}
