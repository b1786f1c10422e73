import { formatSuggestion } from "@sluice/core/extend";

/** How a response fails after the request has had its effect. */
export type FailureMode = "stall" | "truncate" | "unconfirmed" | "drop" | "malformed" | "error-frame";

/** Faults in a text. They combine: `[[slow]] [[drop]]` is slow and then breaks. */
export interface Faults<Name extends string = string> {
  readonly names: ReadonlySet<Name>;
  /** Numbers of the faults that have a number, `[[no-url:2]]`. */
  readonly numbers: ReadonlyMap<Name, number>;
  /** Makes `times` responses to the same body fail, until one is complete. */
  readonly failure: { readonly mode: FailureMode; readonly times: number } | undefined;
  /** Refuses `times` requests with the same body, until one has a complete response. */
  readonly refusal: { readonly status: 429 | 500; readonly times: number } | undefined;
  /** The text without its faults. */
  readonly text: string;
  /** Message about the first misspelled fault. */
  readonly mistake: string | undefined;
  /** Words in double brackets that are not faults. */
  readonly unknown: readonly string[];
}

/** Matches a fault: a name, a count, and a label that makes the body different. */
const FAULT = /\[\[([a-z0-9-]+)(?::(\d{1,6})(?::[\w-]{1,40})?)?\]\]/gi;
/** Matches what may be a misspelled fault: a word, or the status of a refusal. */
const MAYBE_FAULT = /\[\[ *([a-z][\w-]*|[45]\d\d) *(?::([^[\]\n]*))?\]\]/g;
const failureModes: readonly FailureMode[] = [
  "stall",
  "truncate",
  "unconfirmed",
  "drop",
  "malformed",
  "error-frame",
];

/**
 * Reads the faults of one or several texts.
 *
 * @param known faults of the endpoint
 * @param scripted faults of the script, `[[drop]]`. Faults that the endpoint does not know have no effect.
 */
export function readFaults<Name extends string>(
  text: string | readonly string[],
  known: Readonly<Record<Name, string>>,
  scripted = "",
): Faults<Name> {
  const numbers = new Map<Name, number>();
  const names = new Set<Name>();
  const cleanTexts = [text].flat().map(takeFaults);
  takeFaults(scripted);
  const all: ReadonlySet<string> = names;
  const status = [...names].find((name) => name === "429" || name === "500");
  const mode = failureModes.find((name) => all.has(name));
  const getTimes = (name: string) => numbers.get(name as Name) ?? Infinity;
  const unknown = cleanTexts.flatMap((part) => findUnknown(part, Object.keys(known)));
  return {
    names,
    numbers,
    failure: mode && { mode, times: getTimes(mode) },
    refusal: status && { status: status === "429" ? 429 : 500, times: getTimes(status) },
    text: cleanTexts.join(" "),
    mistake: unknown.find(({ mistake }) => mistake)?.mistake,
    unknown: unknown.map(({ word }) => word),
  };

  /** Records the faults of a text, and returns the text without them. */
  function takeFaults(withFaults: string): string {
    const withoutFaults = withFaults.replace(FAULT, (fault: string, word: string, times?: string) => {
      const name = word.toLowerCase();
      if (!isKnown(name, known)) return fault;
      // of a repeated fault, the first one counts
      if (times !== undefined && !names.has(name)) numbers.set(name, Number(times));
      names.add(name);
      return "";
    });
    return withoutFaults.trim();
  }
}

/** A word that may be a misspelled fault. `mistake` is the message about a word that can be nothing else. */
interface UnknownWord {
  readonly word: string;
  readonly mistake: string | undefined;
}

/**
 * Finds words in double brackets that may be misspelled faults, in a text without its valid faults. A word is certainly
 * misspelled if it begins or ends the text, has a count, or is the name of a fault. Elsewhere it may be a wiki link, a
 * C++ attribute or a TOML table.
 */
function findUnknown(text: string, known: readonly string[]): UnknownWord[] {
  return [...text.matchAll(MAYBE_FAULT)].map(({ 0: fault, 1: word = "", 2: count, index }) => {
    const end = index + fault.length;
    const isAtEdge = end === text.length || (index === 0 && text[end] !== "\n");
    const isCertain = isAtEdge || isNumber(count) || known.includes(word);
    return { word, mistake: isCertain ? describeMistake(fault, word, count, known) : undefined };
  });
}

function describeMistake(
  fault: string,
  word: string,
  count: string | undefined,
  known: readonly string[],
): string {
  const times = count === undefined ? "" : isNumber(count) ? `:${count}` : ":2";
  const all = known.map((name) => `[[${name}${times}]]`);
  const hint = formatSuggestion(`[[${word}${times}]]`, all) || `; the faults are ${all.join(", ")}`;
  return `${fault} is not a fault here${hint}`;
}

function isNumber(count: string | undefined): boolean {
  return /^\d+$/.test(count ?? "");
}

function isKnown<Name extends string>(name: string, known: Readonly<Record<Name, string>>): name is Name {
  return Object.hasOwn(known, name);
}
