/**
 * Creates a string that a simple regular expression is likely to match: literals, classes, groups, alternatives and
 * counts. Skips look-arounds and back-references, so the caller must check the result.
 *
 * @param extra number of repetitions beyond the minimum, for a longer string (`minLength`)
 */
export function generateMatch(pattern: string, extra: number): string {
  let index = 0;
  return readAlternatives();

  /** Reads all alternatives and returns the first. */
  function readAlternatives(): string {
    const first = readSequence();
    while (pattern[index] === "|") {
      index++;
      readSequence();
    }
    return first;
  }

  function readSequence(): string {
    let text = "";
    while (index < pattern.length && pattern[index] !== "|" && pattern[index] !== ")") {
      const piece = readAtom();
      text += piece.repeat(Math.min(readCount(), MAX_REPEATS));
    }
    return text;
  }

  function readAtom(): string {
    const character = pattern[index++] ?? "";
    if (character === "(") return readGroup();
    if (character === "[") return pickCharacter(readClass());
    if (character === "\\") return readEscape();
    if (character === "^" || character === "$") return "";
    return character === "." ? "a" : character;
  }

  function readGroup(): string {
    const [prefix = ""] = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(pattern.slice(index)) ?? [];
    index += prefix.length;
    const inner = readAlternatives();
    index++;
    return /[=!]$/.test(prefix) ? "" : inner;
  }

  function readEscape(): string {
    const character = pattern[index++] ?? "";
    if (character === "d") return "1";
    if (character === "s" || character === "S") return character === "s" ? " " : "a";
    if (character === "b" || character === "B") return "";
    if (character === "w" || character === "D") return "a";
    if (character === "W") return "-";
    if (character === "p" || character === "P") {
      const [property = ""] = /^\{[^}]*\}/.exec(pattern.slice(index)) ?? [];
      index += property.length;
      return /^\{(?:N|Nd)\}$/.test(property) ? "1" : /Lu|Upper/.test(property) ? "A" : "a";
    }
    return { n: "\n", t: "\t", r: "\r" }[character] ?? character;
  }

  /** Reads a character class after its first bracket, and returns the class with both brackets. */
  function readClass(): string {
    const start = index - 1;
    if (pattern[index] === "^") index++;
    while (index < pattern.length && pattern[index] !== "]") index += pattern[index] === "\\" ? 2 : 1;
    index++;
    return pattern.slice(start, index);
  }

  function readCount(): number {
    const [found = "", min, comma, max] = /^(?:\{(\d+)(,?)(\d*)\}|[*+?])\??/.exec(pattern.slice(index)) ?? [];
    index += found.length;
    if (found === "") return 1;
    if (found.startsWith("?")) return Math.min(extra, 1);
    if (min === undefined) return (found.startsWith("+") ? 1 : 0) + extra;
    if (comma === "") return Number(min);
    return Math.min(Number(min) + extra, max ? Number(max) : Infinity);
  }
}

const MAX_REPEATS = 10_000;
const PRINTABLE = [
  ..."abcxyzABCXYZ0123456789 -_.,:;/@#+*!?'\"()[]{}<>=%&$~^|\\`",
  ..."defghijklmnopqrstuvw",
  ..."DEFGHIJKLMNOPQRSTUVW",
];

/** Finds the first printable character that a character class matches. */
function pickCharacter(characterClass: string): string {
  try {
    const member = new RegExp(`^${characterClass}$`, "u");
    return PRINTABLE.find((character) => member.test(character)) ?? [...characterClass.slice(1, -1)][0] ?? "";
  } catch {
    return "";
  }
}
