/*
 * A number's shape is the number with each run of digits as one `1`, an integer part of zero as `0`, and a small `e`:
 * `-12.50E+3` has the shape `-1.1e+1`. It says what may come next without a look at the digits that came before.
 */
const BEGINNING = /^-?(?:[01](?:\.1?|(?:\.1)?e[+-]?1?)?)?$/;

/** The shape once `character` follows, or `undefined` where it cannot belong to the number. */
export function numberShapeAfter(shape: string, character: string): string | undefined {
  const isDigit = character >= "0" && character <= "9";
  if (isDigit && shape.endsWith("1")) return shape;
  const isLeadingZero = character === "0" && (shape === "" || shape === "-");
  const next = shape + (isDigit && !isLeadingZero ? "1" : character.toLowerCase());
  return BEGINNING.test(next) ? next : undefined;
}

/** Tells whether a number of this shape may end here. */
export function isWholeNumber(shape: string): boolean {
  return shape.endsWith("1") || shape.endsWith("0");
}
