import { parseArgs } from "node:util";
import type { Tier } from "./tiers.ts";

/** Parsed arguments of `pnpm test`. */
export interface Arguments {
  readonly mode: "quick" | Tier;
  /** Number of repeats of the files in `rest`. */
  readonly repeat: number | undefined;
  /** True to record the durations of the files. */
  readonly isRecording: boolean;
  /** Seed and number of runs of the random tests. */
  readonly env: Readonly<Record<string, string>>;
  /** Arguments for vitest. */
  readonly rest: readonly string[];
}

/** Parses the arguments. A wrong argument ends the process with a line that shows the right usage. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, tokens } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      ci: { type: "boolean" },
      nightly: { type: "boolean" },
      record: { type: "boolean" },
      repeat: { type: "string" },
      seed: { type: "string" },
      runs: { type: "string" },
    },
    strict: false,
    tokens: true,
  });
  const own = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const isNumber = ["repeat", "seed", "runs"].includes(token.name);
    if (isNumber && !/^\d+$/.test(token.value ?? "")) refuse(token.name);
    if (isNumber && !token.inlineValue) own.add(token.index + 1);
    if (isNumber || ["quick", "ci", "nightly", "record"].includes(token.name)) own.add(token.index);
  }
  const { repeat, seed, runs } = values as Record<string, string | undefined>;
  const mode = (["quick", "ci", "nightly"] as const).find((name) => values[name]) ?? "test";
  return {
    mode,
    repeat: repeat === undefined ? undefined : Number(repeat),
    isRecording: Boolean(values["record"]),
    env: { ...(seed && { SLUICE_SEED: seed }), ...(runs && { SLUICE_RUNS: runs }) },
    rest: args.filter((_, index) => !own.has(index)),
  };
}

function refuse(name: string): never {
  console.log(`--${name} needs a whole number, as in --${name} 7.\n0 passed, 1 failed`);
  process.exit(1);
}
