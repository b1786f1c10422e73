/*
 * Exact sums of money. An amount is a whole number of trillionths of the currency: a price with six decimals for a million
 * tokens is such a number for one token.
 */

/** Decimals of a price that count. */
const PRICE_DECIMALS = 6;
const DECIMALS = 12;
const ONE = 10n ** BigInt(DECIMALS);
/** From here on `toFixed` writes an exponent. */
const TOO_MUCH = 1e15;

/** Reads a price as a whole number of millionths of the currency; undefined for what is no price. */
export function readPrice(value: unknown): bigint | undefined {
  if (typeof value !== "number" || !(value >= 0) || value >= TOO_MUCH) return undefined;
  const price = BigInt(value.toFixed(PRICE_DECIMALS).replace(".", ""));
  // a price that is rounded to nothing would make something free
  return price === 0n && value > 0 ? undefined : price;
}

/** Returns the cost of tokens, whose price is for a million of them. */
export function ofTokens(price: bigint, tokens: number): bigint {
  return price * BigInt(tokens);
}

/** Returns the cost of whole things, such as images. */
export function ofPieces(price: bigint, pieces: number): bigint {
  return price * BigInt(pieces) * 1_000_000n;
}

/** Returns the cost of seconds, counted in milliseconds. */
export function ofSeconds(price: bigint, seconds: number): bigint {
  return price * BigInt(Math.round(seconds * 1000)) * 1000n;
}

/** Writes an amount as the nearest number. It is exact up to 15 digits, so that {@link readAmount} gives the amount again. */
export function writeAmount(exact: bigint): number {
  const fraction = String(exact % ONE).padStart(DECIMALS, "0");
  return Number(`${exact / ONE}.${fraction}`);
}

/** Reads a number as an amount by its shortest decimals, without the noise of binary fractions; undefined for no amount. */
export function readAmount(value: number): bigint | undefined {
  if (!(value >= 0) || value >= TOO_MUCH) return undefined;
  const shortest = String(value);
  const [whole = "", fraction = ""] = (shortest.includes("e") ? value.toFixed(DECIMALS) : shortest).split(
    ".",
  );
  return BigInt(whole) * ONE + BigInt(fraction.padEnd(DECIMALS, "0").slice(0, DECIMALS));
}
