import { brighten, type Color, convertHSL, mix, parseHex } from "./color.ts";
import { createRandom } from "./noise.ts";
import { AURORA, findScene, type Scene } from "./scenes.ts";

/** Time of day. */
export type Time = "dawn" | "day" | "dusk" | "night";
export type Season = "spring" | "summer" | "autumn" | "winter";

/** Parts of a prompt that select the painting. */
export interface Subject {
  readonly scene: Scene;
  readonly time: Time;
  readonly season: Season;
  readonly storm: boolean;
  readonly rain: boolean;
  readonly mist: boolean;
  readonly aurora: boolean;
  /** True if there is water in the foreground that mirrors the rest. */
  readonly lake: boolean;
  readonly beach: boolean;
  readonly stars: boolean;
  /** Colors that the prompt names, or those of a reference. */
  readonly tints: readonly Color[];
}

const times: readonly (readonly [Time, RegExp])[] = [
  ["night", /\b(?:night|midnight|moon(?:light|lit)?|starry|aurora|northern lights|neon)\b/i],
  ["dawn", /\b(?:dawn|sunrise|morning|daybreak|early)\b/i],
  ["dusk", /\b(?:dusk|sunset|evening|twilight|golden hour)\b/i],
  ["day", /\b(?:noon|midday|day|daylight|sunny|bright|blue sky|afternoon)\b/i],
];

const seasons: readonly (readonly [Season, RegExp])[] = [
  ["winter", /\b(?:winter|snow(?:y|ing|fall)?|ice|icy|frozen|frost|glacier|northern lights|arctic)\b/i],
  ["autumn", /\b(?:autumn|fall colou?rs|october|maple|harvest)\b/i],
  ["spring", /\b(?:spring|blossoms?|bloom|april|may)\b/i],
  ["summer", /\b(?:summer|july|august)\b/i],
];

const names: Readonly<Record<string, string>> = {
  red: "#d8413a",
  crimson: "#b3203a",
  coral: "#ff7a64",
  orange: "#f58a34",
  amber: "#f2a93b",
  gold: "#e9b949",
  golden: "#e9b949",
  yellow: "#f4d35e",
  lime: "#a6d854",
  green: "#3f9b5f",
  emerald: "#1f9d77",
  teal: "#14958f",
  turquoise: "#35c4bd",
  cyan: "#3fc3e0",
  blue: "#3470d1",
  navy: "#1d2f6f",
  indigo: "#4b3fb5",
  violet: "#7c4fc9",
  purple: "#8a45b8",
  lavender: "#b49be0",
  magenta: "#cf3f9c",
  pink: "#f08bb4",
  rose: "#e8798f",
  peach: "#ffb48f",
  cream: "#fbeed3",
  white: "#f4f4f0",
  silver: "#bcc6cf",
  grey: "#8b949c",
  gray: "#8b949c",
  black: "#15181d",
  brown: "#7b5536",
};

/** A set of images shows the seasons or the times of a day in this order. */
const allSeasons = ["spring", "summer", "autumn", "winter"] as const;
const allTimes = ["dawn", "day", "dusk", "night"] as const;

/**
 * Reads the parts of a prompt. `base` is the prompt of a reference. It decides the scene and the time if the prompt names
 * none. `seed` decides the rest. `index` is the position in a set.
 */
export function readSubject(prompt: string, base: string, seed: string, index: number): Subject {
  const random = createRandom(`${seed} subject`);
  const find = <Name>(table: readonly (readonly [Name, RegExp])[]) =>
    [prompt, base]
      .map((text) => table.find(([, words]) => words.test(text))?.[0])
      .find((name) => name !== undefined);
  const has = (words: RegExp) => words.test(prompt) || words.test(base);
  const aurora = has(AURORA);
  const storm = has(/\b(?:storm(?:y)?|thunder|gale|tempest)\b/i);
  const anyTime = allTimes[Math.floor(random() * 3)] ?? "day";
  const cyclesSeasons = has(/\b(?:four|all|the) seasons\b|\bseason by season\b/i);
  const cyclesTimes = has(
    /\b(?:through(?:out)? the day|four times of day|times of (?:the )?day|dawn to (?:dusk|night))\b/i,
  );
  return {
    scene: findScene(prompt, base) ?? "light",
    // by day, the seasons differ most
    time:
      (cyclesTimes ? allTimes[index % 4] : undefined) ??
      find(times) ??
      (storm || cyclesSeasons ? "day" : anyTime),
    season: (cyclesSeasons ? allSeasons[index % 4] : undefined) ?? find(seasons) ?? "summer",
    storm,
    rain: has(/\b(?:rain(?:y|ing|s)?|drizzle|wet|downpour)\b/i),
    mist: has(/\b(?:mist(?:y)?|fog(?:gy)?|haz[ey]|steam)\b/i),
    aurora,
    lake: has(/\b(?:lakes?|river|pond|reflect\w*|fjord|mirror)\b/i),
    beach: has(/\b(?:beach(?:es)?|shore|sand|coast)\b/i),
    stars: has(/\bstar(?:s|ry|light)?\b/i),
    tints: findTints(prompt).length > 0 ? findTints(prompt) : findTints(base),
  };
}

function findTints(prompt: string): Color[] {
  const words = prompt.toLowerCase().match(/[a-z]+/g) ?? [];
  return words
    .flatMap((word) => (Object.hasOwn(names, word) ? [parseHex(names[word] ?? "#888888")] : []))
    .slice(0, 4);
}

/** Returns the colors that a prompt names. Adds colors that fit if it names fewer than two. */
export function chooseColors({ tints }: Subject, seed: string): readonly Color[] {
  const [only, other] = tints;
  if (other) return tints;
  return only ? [only, mix(only, [1, 0.92, 0.8], 0.55), brighten(only, 0.5)] : createHarmony(seed);
}

function createHarmony(seed: string): readonly Color[] {
  const random = createRandom(`${seed} harmony`);
  const start = random() * 360;
  const turn = random() < 0.5 ? 32 + random() * 30 : 150 + random() * 40;
  return [
    convertHSL(start, 0.62, 0.55),
    convertHSL((start + turn) % 360, 0.66, 0.6),
    convertHSL((start + turn / 2) % 360, 0.5, 0.42),
  ];
}
