/*
 * Shape of a number: each run of digits becomes one `1`, an integer part of zero becomes `0`, and `E` becomes `e`.
 * `-12.50E+3` has the shape `-1.1e+1`. The shape decides which character may follow, without a look at the earlier
 * digits.
 */
const BEGINNING = /^-?(?:[01](?:\.1?|(?:\.1)?e[+-]?1?)?)?$/;

/** Returns the shape after `character`; `undefined` where the number cannot continue with it. */
export function numberShapeAfter(shape: string, character: string): string | undefined {
  const isDigit = character >= "0" && character <= "9";
  if (isDigit && shape.endsWith("1")) return shape;
  const isLeadingZero = character === "0" && (shape === "" || shape === "-");
  const next = shape + (isDigit && !isLeadingZero ? "1" : character.toLowerCase());
  return BEGINNING.test(next) ? next : undefined;
}

/** Returns true if a number of this shape may end here. */
export function isWholeNumber(shape: string): boolean {
  return shape.endsWith("1") || shape.endsWith("0");
}
