const words = [
  "one",
  "two",
  "three",
  "four",
  "five",
  "six",
  "seven",
  "eight",
  "nine",
  "ten",
  "eleven",
  "twelve",
];
const NUMBER = `(\\d+|an?|${words.join("|")})`;
/** Notation of players: `2d20`, `d6`. */
const NOTATION = /\b(\d*)d(\d+)\b/i;
const COUNT = new RegExp(`\\b${NUMBER}\\s+(?:[\\w-]+\\s+){0,2}?(?:dice|die)\\b`, "i");
const SIDES = new RegExp(`\\b${NUMBER}[ -]side`, "i");

/** Finds the number of dice in a prompt, and of their sides. @default three dice with six sides */
export function findDice(prompt: string): { readonly dice: number; readonly sides: number } {
  const [isNotation, count, sides] = NOTATION.exec(prompt) ?? [];
  const dice = isNotation ? readNumber(count || "1") : readNumber(COUNT.exec(prompt)?.[1]);
  const isOne = /\bdie\b/i.test(prompt);
  return {
    dice: clamp(1, dice ?? (isOne ? 1 : 3), 20),
    sides: clamp(2, readNumber(sides ?? SIDES.exec(prompt)?.[1]) ?? 6, 100),
  };
}

function readNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^an?$/i.test(text)) return 1;
  return words.indexOf(text.toLowerCase()) + 1 || Number(text);
}

function clamp(min: number, number: number, max: number): number {
  return Math.min(max, Math.max(min, number));
}

/** Returns the range of totals of a roll, for its response. Empty if the result is not a roll. */
export function describeRange(rolls: unknown, sides: unknown): Readonly<Record<string, number>> {
  if (!Array.isArray(rolls)) return {};
  const count = rolls.length;
  const max = typeof sides === "number" ? sides : 6;
  return { count, sides: max, lowest: count, average: (count * (max + 1)) / 2, highest: count * max };
}
