import { wrap } from "../base/wrap.js";

/** Rows of a table: a name and its meaning. */
type Rows = readonly (readonly [name: string, meaning: string, ...rest: readonly unknown[]])[];

/** Help of one command. */
interface CommandHelp {
  /** Examples, each with its meaning. */
  readonly usage: Rows;
  /** Names of its options. */
  readonly options: readonly string[];
}

/** The commands, in the order of the help. */
export const commands: Readonly<Record<string, CommandHelp>> = {
  chat: {
    usage: [
      ['sluice chat "Why is the sky blue?"', "a response, as it streams"],
      ['cat notes | sluice chat "Summarize" -', "- stands for the input"],
    ],
    options: ["model", "set", "system", "json"],
  },
  image: {
    usage: [['sluice image "A reef at dawn"', "images, saved in this folder"]],
    options: ["model", "set", "size", "out", "json"],
  },
  video: {
    usage: [
      ['sluice video "A reef at dawn"', "a video, with its progress"],
      ["sluice video --resume <id>", "waits for a video that has started"],
    ],
    options: ["model", "set", "out", "no-wait", "resume", "json"],
  },
  doctor: {
    usage: [
      ["sluice doctor <address>", "checks a gateway or a Worker, for free"],
      ["sluice doctor --spend chat", "also chats: 200 tokens of each model"],
    ],
    options: ["spend", "prices", "model", "origin", "behind", "write", "dry-run", "json"],
  },
  mcp: {
    usage: [["sluice mcp", "a server of tools for agents (MCP)"]],
    options: ["models", "folder"],
  },
};

/** The options, with their values and effects. */
const OPTIONS: Readonly<Record<string, readonly [value: string, text: string]>> = {
  model: ["<id>", "the model (default: the newest of its kind)"],
  set: ["<field>=<value>", "any other field of the request: parameters.duration=5"],
  system: ["<text>", "instructions before the question"],
  size: ["<w>x<h>", "width and height, in pixels"],
  out: ["<folder>", "folder of the files (default: this folder)"],
  "no-wait": ["", "starts the video, prints its id, and ends"],
  resume: ["<id>", "the id of a task that was started before"],
  models: ["<ids>", "models that get a tool, with commas (default: all)"],
  folder: ["<folder>", "folder of the files and of the record of paid calls"],
  spend: ["<what>", "chat, or an image or video model; it is charged"],
  prices: ["<file>", "your prices, for --spend of images and videos"],
  origin: ["<page>", "a page of yours that may call the Worker"],
  behind: ["<address>", "the emulator behind the Worker, to see an abort"],
  write: ["<folder>", "report, and recordings for the emulator"],
  "dry-run": ["", "prints the requests, and sends none"],
  json: ["", "one JSON value on the output, for programs"],
  "base-url": ["<address>", "the gateway or a proxy (default: $GATEWAY_URL)"],
  version: ["", "the version"],
  help: ["", "this text; sluice <command> --help has one command"],
};
/** Options of every command. */
export const common: readonly string[] = ["base-url", "version", "help"];

const ENVIRONMENT: Rows = [
  ["GATEWAY_URL", "address of the gateway, or of a proxy before it"],
  ["GATEWAY_API_KEY", "key of the gateway, never an argument: others can see those"],
  ["PROXY_TOKEN", "token for a proxy, which has the key itself"],
];

/** Meanings of options that differ for one command. */
const COMMAND_OPTIONS: Readonly<Record<string, typeof OPTIONS>> = {
  doctor: { model: ["<id>", "the only model for --spend chat (default: all)"] },
};

/** Exit codes. A code with a third field belongs to one command. */
const CODES: readonly (readonly [code: string, text: string, command?: string])[] = [
  ["0", "done"],
  ["1", "refused, and not billed; or a video that failed"],
  ["2", "a mistake in the arguments; nothing was sent"],
  [
    "3",
    "it may be billed: look at the account before you try again. A chat or an image that Ctrl+C stops ends so, too",
  ],
  ["4", "the video is not ready yet; it continues, and --resume waits for it", "video"],
  [
    "5",
    "done in part, and billed: a response that is cut, an image that was refused, a file that could not be saved",
  ],
  ["130", "stopped by Ctrl+C before anything was sent, or while a video is made"],
];

const DOCTOR_CODES: Rows = [
  ["0", "all that was checked holds"],
  ["1", "an assumption does not hold, or nothing responds"],
  ["2", "a mistake in the arguments; nothing was sent"],
  ["130", "stopped by Ctrl+C"],
];

const DEFAULT_COLUMNS = 80;

const WITHOUT_KEY = `Without a key and free of charge, from the emulator's package:
  npx sluice-emulator -- npx -p @sluice/mcp sluice image "A reef at dawn"
`;

/** Creates the text of `sluice --help`. */
export function createHelp(columns: number = DEFAULT_COLUMNS): string {
  const parts = [
    ...wrap("Chats, draws and makes videos through the gateway.", columns),
    "",
    formatTable(
      Object.values(commands).flatMap(({ usage }) => usage),
      columns,
    ),
    formatTable(
      Object.keys(OPTIONS).map((name) => formatOption(name)),
      columns,
    ),
    `Environment:\n${formatTable(ENVIRONMENT, columns)}`,
    `Exit codes:\n${formatTable(CODES, columns)}`,
    WITHOUT_KEY,
  ];
  return parts.join("\n");
}

/** Creates the text of `sluice <command> --help`. */
export function createCommandHelp(command: string, columns: number = DEFAULT_COLUMNS): string {
  const { usage = [], options = [] } = commands[command] ?? {};
  const rows = [...options, ...common].map((name) => formatOption(name, COMMAND_OPTIONS[command]));
  const parts = [
    formatTable(usage, columns),
    formatTable(rows, columns),
    `Environment:\n${formatTable(ENVIRONMENT, columns)}`,
  ];
  const ownCodes = CODES.filter(([, , onlyCommand]) => !onlyCommand || onlyCommand === command);
  const codes = command === "doctor" ? DOCTOR_CODES : ownCodes;
  if (command !== "mcp") parts.push(`Exit codes:\n${formatTable(codes, columns)}`);
  return parts.join("\n");
}

function formatOption(name: string, commandOptions: typeof OPTIONS = {}): readonly [string, string] {
  const [value = "", text = ""] = commandOptions[name] ?? OPTIONS[name] ?? [];
  return [`--${name}${value && ` ${value}`}`, text];
}

const MIN_TEXT_COLUMNS = 20;

/** Formats rows of two columns, or the second below the first in a narrow terminal. */
function formatTable(rows: Rows, columns: number): string {
  const width = Math.max(...rows.map(([first]) => first.length)) + 4;
  const isNarrow = columns - width < MIN_TEXT_COLUMNS;
  const lines = rows.flatMap(([first, second]) => {
    if (isNarrow) return [...wrap(first, columns, "  "), ...wrap(second, columns, "      ")];
    const [start = "", ...rest] = wrap(second, columns, " ".repeat(width));
    return [`  ${first}`.padEnd(width) + start.slice(width), ...rest];
  });
  return `${lines.join("\n")}\n`;
}
