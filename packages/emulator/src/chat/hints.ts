/** Values of a prompt that can become arguments of a tool. Each number and each quote is used once, in order. */
export interface Hints {
  readonly prompt: string;
  readonly quotes: string[];
  readonly locations: readonly string[];
  readonly numbers: number[];
}

const LOCATION = /\b(?:in|for|to|at|from|near) (\p{Lu}[\p{L}\p{M}'’-]*(?: \p{Lu}[\p{L}\p{M}'’-]*)*)/gu;
const QUOTE = /"([^"]+)"|“([^”]+)”|'([^']{2,})'(?!\w)/g;
const NUMBER = /(?<![\p{L}\p{N}_.-])-?\d+(?:\.\d+)?(?![\p{L}\p{N}_-]|\.\d)/gu;

const LOCATION_NAMES = /^(city|town|place|location|country|destination|address)/i;
const TEXT_NAMES =
  /^(query|q|question|text|prompt|message|topic|input|search|term|content|title|subject|body)$/i;

export function readHints(prompt: string): Hints {
  return {
    prompt,
    quotes: [...prompt.matchAll(QUOTE)].map(
      ([, straight, curly, single]) => straight ?? curly ?? single ?? "",
    ),
    locations: [...prompt.matchAll(LOCATION)].map(([, location]) => location ?? ""),
    numbers: (prompt.match(NUMBER) ?? []).map(Number),
  };
}

/** Finds a string of the prompt that fits a property of this name. */
export function findString(name: string, { prompt, quotes, locations }: Hints): string | undefined {
  if (LOCATION_NAMES.test(name) && locations.length > 0) return locations[0];
  if (quotes.length > 0) return quotes[0];
  return TEXT_NAMES.test(name) && prompt !== "" ? prompt : undefined;
}

/** Removes a value from the hints after it became an argument. */
export function removeUsed(value: unknown, { quotes, numbers }: Hints): void {
  if (value === quotes[0]) quotes.shift();
  if (value === numbers[0]) numbers.shift();
}
