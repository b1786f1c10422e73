/*
 * Exact sums of money. An amount is a whole number of trillionths of the currency: a price per million tokens with six
 * decimals is such a number per token.
 */

/** Number of significant decimals of a price. */
const PRICE_DECIMALS = 6;
/** Number of decimals of an amount. */
const DECIMALS = 12;
const UNITS = 10n ** BigInt(DECIMALS);
/** Limit of an amount, above which `toFixed` writes an exponent. */
const MAX_AMOUNT = 1e15;

/** Reads a price as a whole number of millionths of the currency; undefined for an invalid price. */
export function readPrice(value: unknown): bigint | undefined {
  if (typeof value !== "number" || !(value >= 0) || value >= MAX_AMOUNT) return undefined;
  const price = BigInt(value.toFixed(PRICE_DECIMALS).replace(".", ""));
  // a price that rounds to zero would make something free
  return price === 0n && value > 0 ? undefined : price;
}

/** Returns the cost of tokens, by the price of a million tokens. */
export function priceTokens(price: bigint, tokens: number): bigint {
  return price * BigInt(tokens);
}

/** Returns the cost of countable items, such as images. */
export function pricePieces(price: bigint, pieces: number): bigint {
  return price * BigInt(pieces) * 1_000_000n;
}

/** Returns the cost of seconds, rounded to milliseconds. */
export function priceSeconds(price: bigint, seconds: number): bigint {
  return price * BigInt(Math.round(seconds * 1000)) * 1000n;
}

/**
 * Converts an amount to the nearest number. It is exact up to 15 digits, so that {@link readAmount} restores the
 * amount.
 */
export function writeAmount(exact: bigint): number {
  const fraction = String(exact % UNITS).padStart(DECIMALS, "0");
  return Number(`${exact / UNITS}.${fraction}`);
}

/**
 * Reads a number as an amount by its shortest decimals, without binary rounding errors; undefined for an invalid
 * amount.
 */
export function readAmount(value: number): bigint | undefined {
  if (!(value >= 0) || value >= MAX_AMOUNT) return undefined;
  const shortest = String(value);
  const [whole = "", fraction = ""] = (shortest.includes("e") ? value.toFixed(DECIMALS) : shortest).split(
    ".",
  );
  return BigInt(whole) * UNITS + BigInt(fraction.padEnd(DECIMALS, "0").slice(0, DECIMALS));
}
