import { didYouMean } from "@sluice/core/internal";

/** Way in which an answer fails after the request has had its effect. */
export type FailureMode = "stall" | "truncate" | "unconfirmed" | "drop" | "malformed" | "error-frame";

/** Scenes that a text asks for. They combine: `[[slow]] [[drop]]` is slow and then breaks. */
export interface Scenes<Name extends string = string> {
  readonly names: ReadonlySet<Name>;
  /** Numbers of the scenes that have one, `[[no-url:2]]`. */
  readonly numbers: ReadonlyMap<Name, number>;
  /** Failure of `times` answers to the same body, until one is whole. */
  readonly failure: { readonly mode: FailureMode; readonly times: number } | undefined;
  /** Refusal of `times` requests with the same body, until one has a whole answer. */
  readonly refusal: { readonly status: 429 | 500; readonly times: number } | undefined;
  /** The text without its scenes. */
  readonly text: string;
  /** Message about the first misspelt scene; undefined if there is none. */
  readonly mistake: string | undefined;
  /** Words in double brackets that are no scenes. */
  readonly unknown: readonly string[];
}

/** Scenes of every request that creates something and is not streamed. */
export const commonScenes = {
  "429": "refused with 429 and Retry-After: 1; [[429:2]] refuses 2 requests with that body, then answers one",
  "500": "fails with 500; [[500:2]] fails 2 requests with that body, then answers one",
  stall: "it is made, but no answer comes for as long as the client waits",
  truncate:
    "it is made, but the answer is half of the JSON; [[truncate:1]] breaks one answer to that body, and the next is whole; so it is with the others",
  drop: "it is made, but the connection breaks within the answer",
  malformed: "it is made, but the answer is broken JSON",
} as const;

/** A name, a count, and a label that makes the body another one. */
const SCENE = /\[\[([a-z0-9-]+)(?::(\d{1,6})(?::[\w-]{1,40})?)?\]\]/gi;
/** What may be meant as a scene: a word, or a status of a refusal. */
const LIKE_A_SCENE = /\[\[ *([a-z][\w-]*|[45]\d\d) *(?::([^[\]\n]*))?\]\]/g;
const failureModes: readonly FailureMode[] = [
  "stall",
  "truncate",
  "unconfirmed",
  "drop",
  "malformed",
  "error-frame",
];

/**
 * Reads the scenes of a text, or of several.
 *
 * @param known scenes of the endpoint
 * @param added scenes of the script, `[[drop]]`; those that the endpoint does not have change nothing
 */
export function readScenes<Name extends string>(
  text: string | readonly string[],
  known: Readonly<Record<Name, string>>,
  added = "",
): Scenes<Name> {
  const numbers = new Map<Name, number>();
  const names = new Set<Name>();
  const rest = [text].flat().map(takeScenes);
  takeScenes(added);
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

  /** Notes the scenes of a text, and returns the text without them. */
  function takeScenes(whole: string): string {
    const left = whole.replace(SCENE, (scene: string, word: string, times?: string) => {
      const name = word.toLowerCase();
      if (!isKnown(name, known)) return scene;
      // of a scene that is written twice, the first one counts
      if (times !== undefined && !names.has(name)) numbers.set(name, Number(times));
      names.add(name);
      return "";
    });
    return left.trim();
  }
}

/** A word that may be a misspelt scene; with a message if it can be nothing else. */
interface UnknownWord {
  readonly word: string;
  readonly mistake: string | undefined;
}

/**
 * Finds the words that may be misspelt scenes in a text without its scenes. A word is certainly misspelt at the beginning
 * or the end of the text, with a count, or with the name of a scene. Between other words it may be text: a link of a wiki,
 * an attribute of C++, a table of TOML.
 */
function unknownIn(text: string, known: readonly string[]): UnknownWord[] {
  return [...text.matchAll(LIKE_A_SCENE)].map(({ 0: scene, 1: word = "", 2: count, index }) => {
    const end = index + scene.length;
    const isAtEdge = end === text.length || (index === 0 && text[end] !== "\n");
    const isCertain = isAtEdge || isNumber(count) || known.includes(word);
    return { word, mistake: isCertain ? mistakeOf(scene, word, count, known) : undefined };
  });
}

function mistakeOf(scene: string, word: string, count: string | undefined, known: readonly string[]): string {
  const times = count === undefined ? "" : isNumber(count) ? `:${count}` : ":2";
  const all = known.map((name) => `[[${name}${times}]]`);
  const hint = didYouMean(`[[${word}${times}]]`, all) || `; the scenes are ${all.join(", ")}`;
  return `${scene} is not a scene here${hint}`;
}

function isNumber(count: string | undefined): boolean {
  return /^\d+$/.test(count ?? "");
}

function isKnown<Name extends string>(name: string, known: Readonly<Record<Name, string>>): name is Name {
  return Object.hasOwn(known, name);
}
