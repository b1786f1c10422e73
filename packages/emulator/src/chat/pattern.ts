/**
 * Makes a string that a simple regular expression is likely to match: literals, classes, groups, alternatives and
 * counts. Look-arounds and back-references are skipped, so that the result has to be checked.
 *
 * @param extra number of repetitions beyond the least count, for longer results (`minLength`)
 */
export function stringLike(pattern: string, extra: number): string {
  let at = 0;
  return alternatives();

  /** Reads alternatives; the first one is the result. */
  function alternatives(): string {
    const first = sequence();
    while (pattern[at] === "|") {
      at++;
      sequence();
    }
    return first;
  }

  function sequence(): string {
    let text = "";
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
      const piece = atom();
      text += piece.repeat(Math.min(count(), MOST_REPEATS));
    }
    return text;
  }

  function atom(): string {
    const sign = pattern[at++] ?? "";
    if (sign === "(") return group();
    if (sign === "[") return oneOf(classBody());
    if (sign === "\\") return escaped();
    if (sign === "^" || sign === "$") return "";
    return sign === "." ? "a" : sign;
  }

  function group(): string {
    const [prefix = ""] = /^\?(?:[:=!]|<[=!]|<\w+>)/.exec(pattern.slice(at)) ?? [];
    at += prefix.length;
    const inner = alternatives();
    at++;
    return /[=!]$/.test(prefix) ? "" : inner;
  }

  function escaped(): string {
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

  /** Reads a character class from behind its first bracket, and returns it with both brackets. */
  function classBody(): string {
    const start = at - 1;
    if (pattern[at] === "^") at++;
    while (at < pattern.length && pattern[at] !== "]") at += pattern[at] === "\\" ? 2 : 1;
    at++;
    return pattern.slice(start, at);
  }

  function count(): number {
    const [found = "", least, comma, most] = /^(?:\{(\d+)(,?)(\d*)\}|[*+?])\??/.exec(pattern.slice(at)) ?? [];
    at += found.length;
    if (found === "") return 1;
    if (found.startsWith("?")) return Math.min(extra, 1);
    if (least === undefined) return (found.startsWith("+") ? 1 : 0) + extra;
    if (comma === "") return Number(least);
    return Math.min(Number(least) + extra, most ? Number(most) : Infinity);
  }
}

const MOST_REPEATS = 10_000;
const PRINTABLE = [
  ..."abcxyzABCXYZ0123456789 -_.,:;/@#+*!?'\"()[]{}<>=%&$~^|\\`",
  ..."defghijklmnopqrstuvw",
  ..."DEFGHIJKLMNOPQRSTUVW",
];

/** Finds the first common sign of a character class. */
function oneOf(characterClass: string): string {
  try {
    const member = new RegExp(`^${characterClass}$`, "u");
    return PRINTABLE.find((sign) => member.test(sign)) ?? [...characterClass.slice(1, -1)][0] ?? "";
  } catch {
    return "";
  }
}
