import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { formatRows, type Rows, wrap } from "./text.js";

const USAGE: Rows = [
  ["sluice-emulator", "responds as the gateway would"],
  ["sluice-emulator -- <command>", "runs a command beside it, and ends with the command"],
  [
    "sluice-emulator --record <gateway> --recordings <folder>",
    "forwards requests to the gateway, and records the exchanges",
  ],
  ["sluice-emulator --recordings <folder>", "responds from the recorded exchanges"],
  ["sluice-emulator --faults", "lists the known faults, which it serves at /faults/<name>"],
];

const OPTIONS: Rows = [
  ["--port <number>", "port to listen on; 0 takes any free one (default: 8788)"],
  ["--host <address>", "address to listen on (default: 127.0.0.1)"],
  ["--key <key>", "key to accept; may be given several times (default: a random one)"],
  ["--speed <factor>", "1 is a human or recorded pace, 100 is brisk, Infinity does not wait (default: 1)"],
  ["--script <file>", "replies and faults of your own, as JSON"],
  ["--cors", "responds to pages of other origins too"],
  ["--differs <names>", "assumptions of the client to break, with commas"],
  ["--record <gateway>", "address of the gateway to record"],
  ["--recordings <folder>", "folder of the recorded exchanges"],
  ["--quiet", "prints no line for each request"],
  ["--version", "the version"],
  ["--help", "this text"],
];

const EXIT_CODES: Rows = [
  ["0", "stopped by a signal; after --, the code of the command"],
  ["1", "the port can't be used, or a request had no recording"],
  ["2", "a mistake in the arguments"],
];

const COMMAND_HELP =
  "A command after -- gets the address and a key as GATEWAY_URL and GATEWAY_API_KEY, and for OpenAI clients as OPENAI_BASE_URL and OPENAI_API_KEY. The port is then any free one.";

/** Creates the text of `--help`. No line is longer than `width`. */
export function createHelp(width: number): string {
  const parts = [
    wrap("Serves the Sluice emulator: the gateway, offline and free of charge.", width).join("\n"),
    formatRows(USAGE, width),
    formatRows(OPTIONS, width),
    wrap(COMMAND_HELP, width).join("\n"),
    `Exit codes:\n${formatRows(EXIT_CODES, width)}`,
  ];
  return parts.join("\n\n");
}

const options = {
  port: { type: "string" },
  host: { type: "string", default: "127.0.0.1" },
  key: { type: "string", multiple: true },
  speed: { type: "string" },
  script: { type: "string" },
  cors: { type: "boolean", default: false },
  differs: { type: "string" },
  record: { type: "string" },
  recordings: { type: "string" },
  quiet: { type: "boolean", default: false },
  faults: { type: "boolean", default: false },
  version: { type: "boolean", default: false, short: "v" },
  help: { type: "boolean", default: false, short: "h" },
} as const;

/** Parses the arguments of the command. Throws an `Error` that names the wrong argument. */
export function parseArguments(args: readonly string[]) {
  const [own, command] = splitCommand(args);
  const { values } = parseArgs({ args: own, options });
  const { port, key, speed, script, cors, differs, record, recordings, ...rest } = values;
  if (record !== undefined && recordings === undefined)
    throw new Error("--record needs a folder for the recorded exchanges: --recordings ./recordings");
  if (record !== undefined && !/^https?:$/.test(URL.parse(record)?.protocol ?? ""))
    throw new Error(`--record needs the address of the gateway, https://gateway.example.com, got ${record}.`);
  const printed = (["help", "version", "faults"] as const).find((name) => rest[name]);
  const task = printed ?? (record ? "record" : recordings ? "replay" : "emulate");
  if (task !== "emulate")
    for (const [name, value] of Object.entries({ key, script, cors, differs, " <command>": command }))
      if (value) throw new Error(`--${name} has no use here: recordings and the list of faults ignore it.`);
  return {
    task,
    host: rest.host,
    quiet: rest.quiet,
    port: parsePort(port ?? (command ? "0" : "8788")),
    /** Keys to accept. Undefined creates a random key. */
    keys: checkKeys(key),
    speed: parseSpeed(speed ?? "1"),
    script,
    cors,
    /** Names of assumptions to break, not yet checked. */
    differs: differs?.split(",").map((name) => name.trim()) ?? [],
    /** URL of the gateway to record. Empty for other tasks. */
    gateway: record ?? "",
    /** Folder of the recordings. Empty for tasks without recordings. */
    folder: recordings ?? "",
    /** Command to run beside the emulator, with its arguments. */
    command,
  };
}

/** Validated arguments of the command. */
export type Arguments = ReturnType<typeof parseArguments>;

/** Splits the arguments at the first `--`: own arguments, and a command with its arguments. */
function splitCommand(args: readonly string[]): [own: string[], command: string[] | undefined] {
  const index = args.indexOf("--");
  if (index === -1) return [[...args], undefined];
  if (index === args.length - 1) throw new Error("-- needs a command after it: sluice-emulator -- vite");
  return [args.slice(0, index), args.slice(index + 1)];
}

/** Reads the version of this package. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new Error(`--port must be a number from 0 to 65535, got ${text}.`);
  return port;
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (!(speed > 0)) throw new Error(`--speed must be a number above 0, or Infinity, got ${text}.`);
  return speed;
}

function checkKeys(keys: readonly string[] | undefined): readonly string[] | undefined {
  if (keys?.includes(""))
    throw new Error("--key is empty: give a key, --key sk-test, or leave it out for a random one.");
  return keys;
}
