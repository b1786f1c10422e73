import type { Client } from "@sluice/core";
import { formatSuggestion } from "@sluice/core/extend";
import { models } from "@sluice/core/schemas";
import { makeFolder } from "../base/make-folder.js";
import type { Arguments } from "./arguments.js";
import { UsageError } from "./connect.js";
import type { Output, ProgressOutput } from "./terminal.js";

/** Arguments, client and streams of a command. */
export interface Task {
  readonly args: Arguments;
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Output for data: standard output. */
  readonly out: Output;
  /** Output for people: standard error. */
  readonly err: ProgressOutput;
  /** Reads the whole standard input. */
  readonly input: () => Promise<string>;
  /** True if the standard input is a pipe or a file. */
  readonly hasInput?: boolean;
}

/** Exit code for a result that is paid for but incomplete. */
export const PARTIAL_CODE = 5;

/** A video that is not ready but continues. */
export class NotReady extends Error {
  override readonly name = "NotReady";
  /** Id of the task. */
  readonly id: string;

  constructor(message: string, id: string) {
    super(message);
    this.id = id;
  }
}

/** A video that failed. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
}

const DEFAULT_MODELS = {
  chat: "delta-5.3",
  image: "gamma-image-5-0-260128",
  video: "beta3.0-video",
} as const;
const EXAMPLES = {
  chat: 'Write a message: sluice chat "Why is the sky blue?"',
  image: 'Describe the image: sluice image "A reef at dawn"',
  video: 'Describe the video: sluice video "A reef at dawn"',
} as const;

/**
 * Returns the model of a command. `checks` is false for an unknown model, whose rules can't be checked.
 *
 * @throws {UsageError} for a model of another kind
 */
export function chooseModel(kind: keyof typeof DEFAULT_MODELS, { args, err }: Task) {
  const { model = DEFAULT_MODELS[kind] } = args;
  const known: readonly string[] = Object.values(models)
    .filter((row) => row.kind === kind)
    .map(({ id }) => id);
  if (known.includes(model)) return { model, checks: true };
  if (Object.hasOwn(models, model))
    throw new UsageError(`${model} is not a model for ${kind}s; there are ${known.join(", ")}`);
  err.write(
    `This version does not know the model ${model}, so the gateway checks the request${formatSuggestion(model, known)}\n`,
  );
  return { model, checks: false };
}

/**
 * Returns the prompt of a command. A `-` as the first or last word is replaced by the input.
 *
 * @throws {UsageError} without a prompt
 */
export async function readPrompt({ args, input, hasInput, err }: Task): Promise<string> {
  const { words, command } = args;
  let parts = [words.join(" ").trim()];
  if (words[0] === "-") parts = [(await input()).trim(), words.slice(1).join(" ")];
  else if (words.at(-1) === "-") parts = [words.slice(0, -1).join(" "), (await input()).trim()];
  else if (hasInput && words.length > 0)
    err.write(`The input is not read. To send it, too, add a -: sluice ${command} "…" -\n`);
  const prompt = parts.filter(Boolean).join("\n\n");
  if (prompt) return prompt;
  throw new UsageError(EXAMPLES[command as keyof typeof EXAMPLES]);
}

/**
 * Creates the folder of the files before anything is paid.
 *
 * @throws {UsageError}
 */
export async function checkFolder(folder: string): Promise<void> {
  await makeFolder(folder).catch((error: Error) => {
    throw new UsageError(error.message);
  });
}

/** Formats a JSON value as one line. */
export function formatJSON(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
