/** Kind of image. */
export type Scene = "reef" | "sea" | "mountains" | "light";

interface SceneWords {
  /** Name of the painting, in a sentence. */
  readonly label: string;
  /** Words of a prompt that request this scene. */
  readonly words: RegExp;
}

/** Words for the lights in the sky of the north. */
export const AURORA = /\b(?:aurora|northern lights|polar lights)\b/i;

/** All scenes that the demo can paint. A prompt gets the first scene with a matching word. */
export const scenes: Readonly<Record<Scene, SceneWords>> = {
  reef: {
    label: "reefs",
    words: /\b(?:reefs?|corals? reef|under ?water|fish(?:es)?|aquarium|kelp)\b/i,
  },
  sea: { label: "seas", words: /\b(?:seas?|oceans?|waves?|beach(?:es)?|coast|shore|surf)\b/i },
  mountains: {
    label: "mountains",
    words:
      /\b(?:mountains?|peaks?|alps|ridges?|hills?|valleys?|canyon|landscape|meadows?|glacier|lakes?|river|countryside|fields?|fjord)\b/i,
  },
  light: {
    label: "light",
    words: /\b(?:abstract|portraits?|light|shapes?|gradient|minimal|texture|pattern|silk)\b/i,
  },
};

const order = Object.entries(scenes) as [Scene, SceneWords][];
const SNOW = /\b(?:winter|snow(?:y|ing|fall)?|ice|icy|frozen|frost|arctic)\b/i;

/**
 * Finds the scene of a prompt; undefined where none fits. `base` is the prompt of a reference: it decides where the
 * prompt names no scene.
 */
export function findScene(prompt: string, base = ""): Scene | undefined {
  for (const text of [prompt, base]) {
    const found = order.find(([, { words }]) => words.test(text));
    if (found) return found[0];
  }
  const isNorthern = [prompt, base].some((text) => AURORA.test(text) || SNOW.test(text));
  return isNorthern ? "mountains" : undefined;
}
