/*
 * Shape of a number: each run of digits becomes one `1`, an integer part of zero becomes `0`, and `E` becomes `e`.
 * `-12.50E+3` has the shape `-1.1e+1`. The shape decides which character may follow, so the parser need not read the
 * earlier digits again.
 */
const BEGINNING = /^-?(?:[01](?:\.1?|(?:\.1)?e[+-]?1?)?)?$/;
/** A number, followed by another character. */
const WHOLE = /(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)[^\d.eE+-]/y;

/** A number that may arrive in several pieces. */
export interface GrowingNumber {
  text: string;
  shape: string;
}

/** Creates an empty number. */
export function createGrowingNumber(): GrowingNumber {
  return { text: "", shape: "" };
}

/** Returns the number at an index; undefined if the piece may end within the number. */
export function matchNumber(piece: string, at: number): string | undefined {
  WHOLE.lastIndex = at;
  return WHOLE.exec(piece)?.[1];
}

/** Reads all characters that continue the number, and returns the index of the next one. */
export function readDigits(number: GrowingNumber, piece: string, start: number): number {
  let at = start;
  for (; at < piece.length; at += 1) {
    const next = extendShape(number.shape, piece.charAt(at));
    if (next === undefined) break;
    number.shape = next;
  }
  number.text += piece.slice(start, at);
  return at;
}

/** Returns true if the number may end here. */
export function isWhole({ shape }: GrowingNumber): boolean {
  return shape.endsWith("1") || shape.endsWith("0");
}

/** Returns the shape after `character`; `undefined` if the number cannot continue with it. */
function extendShape(shape: string, character: string): string | undefined {
  const isDigit = character >= "0" && character <= "9";
  if (isDigit && shape.endsWith("1")) return shape;
  const isLeadingZero = character === "0" && (shape === "" || shape === "-");
  const next = shape + (isDigit && !isLeadingZero ? "1" : character.toLowerCase());
  return BEGINNING.test(next) ? next : undefined;
}
