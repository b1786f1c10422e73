import { formatSuggestion } from "@sluice/core/internal";

/** Way in which an answer fails after the request has had its effect. */
export type FailureMode = "stall" | "truncate" | "unconfirmed" | "drop" | "malformed" | "error-frame";

/** Faults that a text asks for. They combine: `[[slow]] [[drop]]` is slow and then breaks. */
export interface Faults<Name extends string = string> {
  readonly names: ReadonlySet<Name>;
  /** Numbers of the faults that have one, `[[no-url:2]]`. */
  readonly numbers: ReadonlyMap<Name, number>;
  /** Failure of `times` answers to the same body, until one is whole. */
  readonly failure: { readonly mode: FailureMode; readonly times: number } | undefined;
  /** Refusal of `times` requests with the same body, until one has a whole answer. */
  readonly refusal: { readonly status: 429 | 500; readonly times: number } | undefined;
  /** The text without its faults. */
  readonly text: string;
  /** Message about the first misspelt fault; undefined if there is none. */
  readonly mistake: string | undefined;
  /** Words in double brackets that are no faults. */
  readonly unknown: readonly string[];
}

/** Faults of every request that creates something and is not streamed. */
export const commonFaults = {
  "429": "refused with 429 and Retry-After: 1; [[429:2]] refuses 2 requests with that body, then answers one",
  "500": "fails with 500; [[500:2]] fails 2 requests with that body, then answers one",
  stall: "it is made, but no answer comes for as long as the client waits",
  truncate:
    "it is made, but the answer is half of the JSON; [[truncate:1]] breaks one answer to that body, and the next is whole; so it is with the others",
  drop: "it is made, but the connection breaks within the answer",
  malformed: "it is made, but the answer is broken JSON",
} as const;

/** A name, a count, and a label that makes the body another one. */
const FAULT = /\[\[([a-z0-9-]+)(?::(\d{1,6})(?::[\w-]{1,40})?)?\]\]/gi;
/** What may be meant as a fault: a word, or a status of a refusal. */
const LIKE_A_FAULT = /\[\[ *([a-z][\w-]*|[45]\d\d) *(?::([^[\]\n]*))?\]\]/g;
const failureModes: readonly FailureMode[] = [
  "stall",
  "truncate",
  "unconfirmed",
  "drop",
  "malformed",
  "error-frame",
];

/**
 * Reads the faults of a text, or of several.
 *
 * @param known faults of the endpoint
 * @param added faults of the script, `[[drop]]`; those that the endpoint does not have change nothing
 */
export function readFaults<Name extends string>(
  text: string | readonly string[],
  known: Readonly<Record<Name, string>>,
  added = "",
): Faults<Name> {
  const numbers = new Map<Name, number>();
  const names = new Set<Name>();
  const rest = [text].flat().map(takeFaults);
  takeFaults(added);
  const all: ReadonlySet<string> = names;
  const refused = [...names].find((name) => name === "429" || name === "500");
  const mode = failureModes.find((name) => all.has(name));
  const timesOf = (name: string) => numbers.get(name as Name) ?? Infinity;
  const found = rest.flatMap((part) => unknownIn(part, Object.keys(known)));
  return {
    names,
    numbers,
    failure: mode && { mode, times: timesOf(mode) },
    refusal: refused && {
      status: refused === "429" ? 429 : 500,
      times: timesOf(refused),
    },
    text: rest.join(" "),
    mistake: found.find(({ mistake }) => mistake)?.mistake,
    unknown: found.map(({ word }) => word),
  };

  /** Notes the faults of a text, and returns the text without them. */
  function takeFaults(whole: string): string {
    const left = whole.replace(FAULT, (fault: string, word: string, times?: string) => {
      const name = word.toLowerCase();
      if (!isKnown(name, known)) return fault;
      // of a fault that is written twice, the first one counts
      if (times !== undefined && !names.has(name)) numbers.set(name, Number(times));
      names.add(name);
      return "";
    });
    return left.trim();
  }
}

/** A word that may be a misspelt fault; with a message if it can be nothing else. */
interface UnknownWord {
  readonly word: string;
  readonly mistake: string | undefined;
}

/**
 * Finds the words that may be misspelt faults in a text without its faults. A word is certainly misspelt at the beginning
 * or the end of the text, with a count, or with the name of a fault. Between other words it may be text: a link of a wiki,
 * an attribute of C++, a table of TOML.
 */
function unknownIn(text: string, known: readonly string[]): UnknownWord[] {
  return [...text.matchAll(LIKE_A_FAULT)].map(({ 0: fault, 1: word = "", 2: count, index }) => {
    const end = index + fault.length;
    const isAtEdge = end === text.length || (index === 0 && text[end] !== "\n");
    const isCertain = isAtEdge || isNumber(count) || known.includes(word);
    return { word, mistake: isCertain ? mistakeOf(fault, word, count, known) : undefined };
  });
}

function mistakeOf(fault: string, word: string, count: string | undefined, known: readonly string[]): string {
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
