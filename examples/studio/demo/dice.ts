const words = [
  "no",
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
const NUMBER = `(\\d+|an?|${words.slice(1).join("|")})`;
/** Notation of players: `2d20`, `d6`. */
const NOTATION = /\b(\d*)d(\d+)\b/i;
const COUNT = new RegExp(`\\b${NUMBER}\\s+(?:[\\w-]+\\s+){0,2}?(?:dice|die)\\b`, "i");
const SIDES = new RegExp(`\\b${NUMBER}[ -]side`, "i");

/** Finds the number of dice in a prompt, and of their sides: three dice with six sides where it names none. */
export function diceIn(prompt: string): { readonly dice: number; readonly sides: number } {
  const [isNotation, count, sides] = NOTATION.exec(prompt) ?? [];
  const dice = isNotation ? numberOf(count || "1") : numberOf(COUNT.exec(prompt)?.[1]);
  const isOne = /\bdie\b/i.test(prompt);
  return {
    dice: within(1, dice ?? (isOne ? 1 : 3), 20),
    sides: within(2, numberOf(sides ?? SIDES.exec(prompt)?.[1]) ?? 6, 100),
  };
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^an?$/i.test(text)) return 1;
  const word = words.indexOf(text.toLowerCase());
  return word < 0 ? Number(text) : word;
}

function within(least: number, number: number, most: number): number {
  return Math.min(most, Math.max(least, number));
}

/** Values of the answer to a roll: the range of totals, and the chances of this one. Empty where it is no roll. */
export function chancesOf(rolls: unknown, sides: unknown): Readonly<Record<string, string | number>> {
  if (!Array.isArray(rolls)) return {};
  const count = rolls.length;
  const most = typeof sides === "number" ? sides : 6;
  const total = rolls.reduce<number>((sum, roll) => sum + Number(roll), 0);
  const chances = distribution(count, most);
  return {
    "dice in words": `${words[count] ?? count} ${words[most] ?? most}-sided ${count === 1 ? "die" : "dice"}`,
    lowest: count,
    average: (count * (most + 1)) / 2,
    highest: count * most,
    chance: percent(chances[total] ?? 0),
    "at least": percent(chances.slice(total).reduce((sum, chance) => sum + chance, 0)),
  };
}

/** The chance of each total, at the index of the total. */
function distribution(count: number, sides: number): readonly number[] {
  let chances = [1];
  for (let die = 0; die < count; die += 1) {
    const next = new Array<number>(chances.length + sides).fill(0);
    for (const [total, chance] of chances.entries())
      for (let side = 1; side <= sides; side += 1)
        next[total + side] = (next[total + side] ?? 0) + chance / sides;
    chances = next;
  }
  return chances;
}

function percent(chance: number): string {
  // a half that is stored as a little less is rounded up all the same
  const share = 100 * chance + 1e-9;
  return `${share >= 10 ? share.toFixed(1) : share.toPrecision(2)} %`;
}
