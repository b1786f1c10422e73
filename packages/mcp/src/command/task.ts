import type { Client } from "@sluice/core";
import { chatModels, imageModels, videoModels } from "@sluice/core/schemas";
import type { Arguments } from "./arguments.js";
import { UsageError } from "./connect.js";
import type { Output, withProgress } from "./terminal.js";

/** Arguments, client and streams of a command. */
export interface Task {
  readonly args: Arguments;
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Output for data. */
  readonly out: Output;
  /** Output for people. */
  readonly err: ReturnType<typeof withProgress>;
  /** Reads all of the input. */
  readonly input: () => Promise<string>;
}

/** A video that is not ready: it goes on. */
export class NotReady extends Error {
  override readonly name = "NotReady";
  /** Id of the task. */
  readonly id: string;

  constructor(message: string, id: string) {
    super(message);
    this.id = id;
  }
}

/** A video that will never be there. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
}

const TABLES = { chat: chatModels, image: imageModels, video: videoModels } as const;
const USUAL = { chat: "delta-5.3", image: "gamma-image-5-0-260128", video: "beta3.0-video" } as const;

/**
 * Returns the model of a command.
 *
 * @throws {UsageError} for one of another kind
 */
export function modelOf(kind: keyof typeof TABLES, { model = USUAL[kind] }: Arguments): string {
  if (Object.hasOwn(TABLES[kind], model)) return model;
  throw new UsageError(`${model} is no ${kind} model; there are ${Object.keys(TABLES[kind]).join(", ")}`);
}

/**
 * Returns the words of a command, or its input for `-`.
 *
 * @throws {UsageError} where there are none
 */
export async function promptOf({ args, input }: Task): Promise<string> {
  const words = args.words.join(" ").trim();
  const text = words === "-" ? (await input()).trim() : words;
  if (text) return text;
  throw new UsageError(`Say what: sluice ${args.command} "A reef at dawn"`);
}

/** Writes a JSON value as one line. */
export function json(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
