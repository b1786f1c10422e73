import type { Client, ClientOptions } from "@sluice/core";
import { isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/extend";
import { listenToRequests } from "../base/listen-to-requests.js";
import { readVersion } from "../base/version.js";
import { NoTask } from "../base/watch.js";
import { parseArguments } from "./arguments.js";
import { runChat } from "./chat.js";
import { connect, type Environment, UsageError } from "./connect.js";
import { commands, createCommandHelp, createHelp } from "./help.js";
import { runImage } from "./image.js";
import { formatJSON, NotReady, type Task, TaskFailed } from "./task.js";
import { addProgress, type Output, removeControls } from "./terminal.js";
import { runVideo } from "./video.js";

/** Streams, environment and signal of a command. */
export interface CommandOptions extends Pick<Task, "input" | "signal" | "hasInput"> {
  readonly out: Output;
  readonly err: Output;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Additional client options. Only tests set them. */
  readonly client?: Partial<ClientOptions>;
}

/** Runs a command, and returns its exit code. */
export async function run(options: CommandOptions): Promise<number> {
  const { signal } = options;
  const out = removeControls(options.out);
  const err = addProgress(options.err);
  const { columns } = options.out;
  const isJSON = options.args.includes("--json");
  /** True once a request with a model was sent, which may be billed. */
  let isSent = false;
  let address = "";
  let scrub = (text: string) => text;
  try {
    const args = parseArguments(options.args);
    if (args.help)
      return print(args.command ? createCommandHelp(args.command, columns) : createHelp(columns));
    if (args.version) return print(`sluice ${formatVersion()}\n`);
    if (args.command === "doctor") {
      // most commands need neither the checks nor the emulator's package
      const { runDoctor } = await import("./doctor.js");
      return await runDoctor({ ...options, args, err, out: { columns, write: (text) => out.write(text) } });
    }
    const client = connect(args["base-url"], options.env, options.client, (text) => err.write(`${text}\n`));
    scrub = client.scrub;
    address = client.baseURL;
    const task = { ...options, out, err, args, client: trackRequests(client) };
    const commands = { chat: runChat, image: runImage, video: runVideo, mcp: runMcp };
    return await commands[args.command as keyof typeof commands](task);
  } catch (error) {
    const code = chooseCode(error, isSent, signal);
    const message = scrub(describeError(error, address, options.args));
    if (isJSON) out.write(formatJSON({ error: { ...toMetadata(error), message }, code }));
    err.write(`${message}\n${describeHint(error, code, findCommand(options.args))}`);
    return code;
  }

  function print(text: string): number {
    out.write(text);
    return 0;
  }

  function trackRequests(client: Client): Client {
    return listenToRequests(client, ({ model }) => {
      if (model !== undefined) isSent = true;
    });
  }
}

/** Formats the version for people. The repository has 0.0.0, which means nothing to them. */
function formatVersion(): string {
  const version = readVersion();
  return version === "0.0.0" ? "from its repository, not a release" : version;
}

/** Loads the MCP SDK only here, since the other commands do not need it. */
async function runMcp(task: Task): Promise<number> {
  const { serveMcp } = await import("./serve.js");
  await serveMcp(task);
  return 0;
}

/** Finds the command in arguments that may be wrong. */
function findCommand(args: readonly string[]): string {
  const command = args.find((word) => Object.hasOwn(commands, word));
  return command === undefined ? "sluice" : `sluice ${command}`;
}

/** Adds the bill and the next step to an error. Empty if the message of the error has both. */
function describeHint(error: unknown, code: number, command: string): string {
  if (code === 2) return `Nothing was sent. See ${command} --help.\n`;
  if (error instanceof NoTask) return "";
  if (code === 3) return "It may be billed. Look at the account before you try again.\n";
  // a known task is paid for, whatever its error is about
  const isFree = code === 1 && isGatewayError(error) && error.billing !== undefined && !error.handle;
  return isFree ? "Nothing was billed.\n" : "";
}

/** Chooses the exit code, which tells the next step. */
function chooseCode(error: unknown, isSent: boolean, signal: AbortSignal): number {
  if (error instanceof UsageError) return 2;
  if (error instanceof NotReady) return signal.aborted ? 130 : 4;
  if (error instanceof TaskFailed || error instanceof NoTask) return 1;
  if (!isGatewayError(error)) return isSent ? 3 : signal.aborted ? 130 : 1;
  if (error.name === "ValidationError" || error.name === "ConfigurationError") return 2;
  return error.billing === "maybe" ? 3 : 1;
}

const NO_LISTENER = /ECONNREFUSED|ConnectionRefused|bad port/;
const NO_HOST = /ENOTFOUND|EAI_AGAIN/;

/** Describes an error in the terms of the command line. */
function describeError(error: unknown, address: string, args: readonly string[]): string {
  const message = describeThrown(error);
  if (!isGatewayError(error)) return message;
  if (error.name === "StreamError" && readPartial(error) !== undefined)
    return message.replace(/; `partial` has .*/s, "; what came is above");
  if (error.name === "ConnectionError" && error.billing === "none") {
    const { host } = new URL(address);
    // the cause of `fetch failed` has the code of the operating system
    const { message: text, cause } = (error.cause ?? {}) as Error;
    const { code, message: causeText } = (cause ?? {}) as NodeJS.ErrnoException;
    const reason = `${text} ${code} ${causeText}`;
    if (NO_LISTENER.test(reason)) return `Nothing listens at ${host}. Check the address.`;
    if (NO_HOST.test(reason)) return `There is no host ${host}. Check the address and the network.`;
  }
  if (error.name !== "ValidationError") return message;
  // users of the command set fields with `--set`
  const lines = error.issues.map(({ path, message: text }) => {
    const [, parent] = /^belongs in `(\w+)`/.exec(text) ?? [];
    const [, value = "…"] = args.map((arg) => arg.split(/=(.*)/s)).find(([field]) => field === path) ?? [];
    if (parent) return `Write --set ${parent}.${path}=${value}`;
    return path ? `${path}: ${text}` : text;
  });
  return lines.join("\n");
}

/** Returns the text of an interrupted message. */
function readPartial(error: unknown): string | undefined {
  const text = (error as { partial?: { content?: unknown } }).partial?.content;
  return typeof text === "string" && text !== "" ? text : undefined;
}

function toMetadata(error: unknown): object {
  if (error instanceof NotReady) return { name: error.name, id: error.id };
  if (!isGatewayError(error)) return { name: error instanceof Error ? error.name : "Error" };
  const { name, billing, requestId } = error;
  const text = readPartial(error);
  return { name, billing, requestId, ...(text !== undefined && { text }) };
}
