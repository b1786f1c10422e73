/**
 * Creates a string that a simple regular expression is likely to match: literals, classes, groups, alternatives and
 * counts. Skips look-arounds and back-references, so the caller must check the result.
 *
 * @param extra number of repetitions beyond the minimum, for longer results (`minLength`)
 */
export function generateMatch(pattern: string, extra: number): string {
  let at = 0;
  return readAlternatives();

  /** Reads all alternatives and returns the first. */
  function readAlternatives(): string {
    const first = readSequence();
    while (pattern[at] === "|") {
      at++;
      readSequence();
    }
    return first;
  }

  function readSequence(): string {
    let text = "";
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
      const piece = readAtom();
      text += piece.repeat(Math.min(readCount(), MAX_REPEATS));
    }
    return text;
  }

  function readAtom(): string {
    const sign = pattern[at++] ?? "";
    if (sign === "(") return readGroup();
    if (sign === "[") return pickCharacter(readClass());
    if (sign === "\\") return readEscape();
    if (sign === "^" || sign === "$") return "";
    return sign === "." ? "a" : sign;
  }

  function readGroup(): string {
    const [prefix = ""] = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(pattern.slice(at)) ?? [];
    at += prefix.length;
    const inner = readAlternatives();
    at++;
    return /[=!]$/.test(prefix) ? "" : inner;
  }

  function readEscape(): string {
    const sign = pattern[at++] ?? "";
    if (sign === "d") return "1";
    if (sign === "s" || sign === "S") return sign === "s" ? " " : "a";
    if (sign === "b" || sign === "B") return "";
    if (sign === "w" || sign === "D") return "a";
    if (sign === "W") return "-";
    if (sign === "p" || sign === "P") {
      const [property = ""] = /^\{[^}]*\}/.exec(pattern.slice(at)) ?? [];
      at += property.length;
      return /^\{(?:N|Nd)\}$/.test(property) ? "1" : /Lu|Upper/.test(property) ? "A" : "a";
    }
    return { n: "\n", t: "\t", r: "\r" }[sign] ?? sign;
  }

  /** Reads a character class after its first bracket, and returns the class with both brackets. */
  function readClass(): string {
    const start = at - 1;
    if (pattern[at] === "^") at++;
    while (at < pattern.length && pattern[at] !== "]") at += pattern[at] === "\\" ? 2 : 1;
    at++;
    return pattern.slice(start, at);
  }

  function readCount(): number {
    const [found = "", min, comma, max] = /^(?:\{(\d+)(,?)(\d*)\}|[*+?])\??/.exec(pattern.slice(at)) ?? [];
    at += found.length;
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
    return PRINTABLE.find((sign) => member.test(sign)) ?? [...characterClass.slice(1, -1)][0] ?? "";
  } catch {
    return "";
  }
}
