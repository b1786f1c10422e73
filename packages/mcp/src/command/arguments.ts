import { parseArgs } from "node:util";
import { formatSuggestion } from "@sluice/core/extend";
import { UsageError } from "./connect.js";
import { commands, common } from "./help.js";

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
  spend: { type: "string", multiple: true },
  prices: { type: "string" },
  origin: { type: "string", multiple: true },
  behind: { type: "string" },
  write: { type: "string" },
  "dry-run": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  "base-url": { type: "string" },
  version: { type: "boolean", default: false, short: "v" },
  help: { type: "boolean", default: false, short: "h" },
} as const;

const optionNames: readonly string[] = Object.keys(options);

/** Arguments of a command. */
export type Arguments = ReturnType<typeof parseArguments>;

/**
 * Parses the arguments.
 *
 * @throws {UsageError} that names the wrong argument
 */
export function parseArguments(args: readonly string[]) {
  const { values, positionals } = parse(args);
  const [command = "", ...words] = positionals;
  const names = Object.keys(commands);
  if (!command && !values.help && !values.version)
    throw new UsageError(`Name a command: ${names.join(", ")}`);
  if (command && !Object.hasOwn(commands, command)) {
    const suggestion = formatSuggestion(command, names).replaceAll("`", "");
    const list = `. The commands are ${names.join(", ")}`;
    throw new UsageError(`There is no command ${command}${suggestion || list}`);
  }
  const accepted = [...(commands[command]?.options ?? optionNames), ...common];
  const useless = optionNames.find((name) => isGiven(values, name) && !accepted.includes(name));
  if (useless) throw new UsageError(`--${useless} has no use for ${command}.`);
  return { ...values, command, words };
}

function isGiven(values: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = values[name];
  return value !== undefined && value !== false && !(name === "out" && value === options.out.default);
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, name = ""] = /'(--?[^\s',=]+)/.exec(message) ?? [];
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      const suggestion = formatSuggestion(name.replace(/^-+/, ""), optionNames);
      const advice =
        suggestion.replace(/`([\w-]+)`/, "--$1") || ". Write -- before a text that begins with -";
      throw new UsageError(`There is no option ${name}${advice}`);
    }
    if (code === "ERR_PARSE_ARGS_INVALID_OPTION_VALUE")
      throw new UsageError(
        /does not take an argument/.test(message)
          ? `${name} takes no value.`
          : `${name} needs a value: ${name} <value>, or ${name}=<value> where the value begins with -`,
      );
    throw new UsageError(message);
  }
}

/**
 * Writes the fields of `--set` into a request: `parameters.duration=5`. A value that is JSON is parsed.
 *
 * @throws {UsageError} for a field without a value
 */
export function setFields(request: object, set: readonly string[] = []): object {
  const result = structuredClone(request) as Record<string, unknown>;
  for (const field of set) {
    const [, path = "", value = ""] = /^([\w.-]+)=(.*)$/s.exec(field) ?? [];
    const names = path.split(".");
    const last = names.pop() ?? "";
    if (!path || [...names, last].includes("__proto__"))
      throw new UsageError(`--set ${field}: write it as field=value`);
    let parent = result;
    for (const name of names) {
      const child = parent[name];
      parent[name] = typeof child === "object" && child !== null ? child : {};
      parent = parent[name] as Record<string, unknown>;
    }
    parent[last] = parseJSONOrText(value);
  }
  return result;
}

function parseJSONOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
