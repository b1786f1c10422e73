import { parseArgs } from "node:util";
import type { Tier } from "./tiers.ts";

/** What the arguments of `pnpm test` ask for. */
export interface Arguments {
  readonly mode: "quick" | Tier;
  /** Times to repeat the files that `rest` names. */
  readonly repeat: number | undefined;
  /** True if the durations of the files are to be recorded. */
  readonly isRecording: boolean;
  /** Seed and number of runs of the random tests. */
  readonly env: Readonly<Record<string, string>>;
  /** Arguments for vitest. */
  readonly rest: readonly string[];
}

/** Reads the arguments. A wrong one ends the process with a line that says what is right. */
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
