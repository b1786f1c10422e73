/** Way in which an answer fails after the request has had its effect. */
export type FailureMode = "stall" | "truncate" | "unconfirmed" | "drop" | "malformed" | "error-frame";

/** Scenes that a text asks for. They combine: `[[slow]] [[drop]]` is slow and then breaks. */
export interface Scenes<Name extends string = string> {
  readonly names: ReadonlySet<Name>;
  /** Numbers of the scenes that have one, `[[no-url:2]]`. */
  readonly numbers: ReadonlyMap<Name, number>;
  /** Failure of the first `times` answers to the same body. */
  readonly failure: { readonly mode: FailureMode; readonly times: number } | undefined;
  /** Refusal of the first `times` requests with the same body. */
  readonly refusal: { readonly status: 429 | 500; readonly times: number } | undefined;
  /** The text without its scenes. */
  readonly text: string;
}

/** Scenes of every request that creates something and is not streamed. */
export const commonScenes = {
  "429": "refused with 429 and Retry-After: 1; [[429:2]] refuses only the first 2 requests with that body",
  "500": "fails with 500; [[500:2]] fails only the first 2 requests with that body",
  stall: "it is made, but no answer comes for as long as the client waits",
  truncate:
    "it is made, but the answer is half of the JSON; [[truncate:1]] breaks only the first answer to that body, and so do the others",
  drop: "it is made, but the connection breaks within the answer",
  malformed: "it is made, but the answer is broken JSON",
} as const;

const SCENE = /\[\[([a-z0-9-]+)(?::(\d{1,6}))?\]\]/gi;
const failureModes: readonly FailureMode[] = [
  "stall",
  "truncate",
  "unconfirmed",
  "drop",
  "malformed",
  "error-frame",
];

/** Reads the scenes of `text`. A name that is not in `known` stays text. */
export function readScenes<Name extends string>(
  text: string,
  known: Readonly<Record<Name, string>>,
): Scenes<Name> {
  const numbers = new Map<Name, number>();
  const names = new Set<Name>();
  const rest = text.replace(SCENE, (scene: string, word: string, times?: string) => {
    const name = word.toLowerCase();
    if (!isKnown(name, known)) return scene;
    // of a scene that is written twice, the first one counts
    if (times !== undefined && !names.has(name)) numbers.set(name, Number(times));
    names.add(name);
    return "";
  });
  const all: ReadonlySet<string> = names;
  const refused = [...names].find((name) => name === "429" || name === "500");
  const mode = failureModes.find((name) => all.has(name));
  const timesOf = (name: string) => numbers.get(name as Name) ?? Infinity;
  return {
    names,
    numbers,
    failure: mode && { mode, times: timesOf(mode) },
    refusal: refused && {
      status: refused === "429" ? 429 : 500,
      times: timesOf(refused),
    },
    text: rest.trim(),
  };
}

function isKnown<Name extends string>(name: string, known: Readonly<Record<Name, string>>): name is Name {
  return Object.hasOwn(known, name);
}
