import { parseArgs } from "node:util";
import { UsageError } from "./connect.js";

const options = {
  model: { type: "string" },
  set: { type: "string", multiple: true },
  system: { type: "string" },
  size: { type: "string" },
  out: { type: "string", default: "." },
  "no-wait": { type: "boolean", default: false },
  resume: { type: "string" },
  models: { type: "string" },
  folder: { type: "string" },
  json: { type: "boolean", default: false },
  "base-url": { type: "string" },
  version: { type: "boolean", default: false, short: "v" },
  help: { type: "boolean", default: false, short: "h" },
} as const;

/** Options that make no sense for a command. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  chat: ["size", "no-wait", "resume", "models", "folder"],
  image: ["system", "no-wait", "resume", "models", "folder"],
  video: ["system", "size", "models", "folder"],
  mcp: ["model", "set", "system", "size", "no-wait", "resume", "json"],
  completion: [],
};

/** Names of the commands. */
export const commands: readonly string[] = Object.keys(FOREIGN);
/** Names of all options. */
export const optionNames: readonly string[] = Object.keys(options);

/** Arguments of a command. */
export type Arguments = ReturnType<typeof readArguments>;

/**
 * Reads the arguments.
 *
 * @throws {UsageError} that names the wrong one
 */
export function readArguments(args: readonly string[]) {
  const { values, positionals } = parsed(args);
  const [command = "", ...words] = positionals;
  const foreign = FOREIGN[command];
  const isAsking = values.help || values.version;
  if (!foreign && !isAsking)
    throw new UsageError(
      command ? `There is no command ${command}; there are ${commands.join(", ")}.` : "Name a command.",
    );
  const wrong = foreign?.find((name) => values[name as keyof typeof values]);
  if (wrong) throw new UsageError(`--${wrong} has no use for ${command}.`);
  return { ...values, command, words };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/**
 * Writes the fields of `--set` into a request: `parameters.duration=5`. A value that is JSON is taken as JSON.
 *
 * @throws {UsageError} for a field without a value
 */
export function withFields(request: object, set: readonly string[] = []): Record<string, unknown> {
  const result = structuredClone(request) as Record<string, unknown>;
  for (const field of set) {
    const [, path = "", value = ""] = /^([\w.-]+)=(.*)$/s.exec(field) ?? [];
    const names = path.split(".");
    const last = names.pop() ?? "";
    if (!path || [...names, last].includes("__proto__"))
      throw new UsageError(`--set ${field}: write it as field=value`);
    let inside = result;
    for (const name of names) {
      const next = inside[name];
      inside[name] = typeof next === "object" && next !== null ? next : {};
      inside = inside[name] as Record<string, unknown>;
    }
    inside[last] = jsonOr(value);
  }
  return result;
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
