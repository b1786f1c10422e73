import type { Client, ClientOptions } from "@sluice/core";
import { isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/internal";
import { onRequest } from "../base/on-request.js";
import { readVersion } from "../base/version.js";
import { NoTask } from "../base/watch.js";
import { readArguments } from "./arguments.js";
import { chat } from "./chat.js";
import { completionFor } from "./completion.js";
import { connect, type Environment, UsageError } from "./connect.js";
import { help, helpOf } from "./help.js";
import { image } from "./image.js";
import { json, NotReady, type Task, TaskFailed } from "./task.js";
import { type Output, withoutControls, withProgress } from "./terminal.js";
import { video } from "./video.js";

/** The world of a command: its streams, its environment and its end. */
export interface World extends Pick<Task, "input" | "signal" | "hasInput"> {
  readonly out: Output;
  readonly err: Output;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Text of `--help`. */
  readonly help?: string;
  /** Further options of the client: only tests set them. */
  readonly client?: Partial<ClientOptions>;
}

/** Runs a command, and returns the code that the process ends with. */
export async function run(world: World): Promise<number> {
  const { signal } = world;
  const out = withoutControls(world.out);
  const err = withProgress(world.err);
  const isJSON = world.args.includes("--json");
  let isSent = false;
  let address = "";
  let scrub = (text: string) => text;
  try {
    const args = readArguments(world.args);
    if (args.help) return say(world.help ?? (args.command ? helpOf(args.command) : help()));
    if (args.version) return say(`sluice ${shownVersion()}\n`);
    if (args.command === "completion") return say(completionFor(args.words[0]));
    const client = connect(args["base-url"], world.env, world.client, (text) => err.write(`${text}\n`));
    scrub = client.scrub;
    address = client.baseURL;
    const task = { ...world, out, err, args, client: noting(client) };
    const verbs = { chat, image, video, mcp };
    return await verbs[args.command as keyof typeof verbs](task);
  } catch (error) {
    const code = codeOf(error, isSent, signal);
    const message = scrub(wordsOf(error, address, world.args));
    if (isJSON) out.write(json({ error: { ...factsOf(error), message }, code }));
    err.write(`${message}\n${hintOf(error, code)}`);
    return code;
  }

  function say(text: string): number {
    out.write(text);
    return 0;
  }

  /** Notes that a request that may be billed has left. */
  function noting(client: Client): Client {
    return onRequest(client, ({ model }) => {
      if (model !== undefined) isSent = true;
    });
  }
}

/** Version for people. The repository has 0.0.0, which says nothing. */
function shownVersion(): string {
  const version = readVersion();
  return version === "0.0.0" ? "from its repository, not a release" : version;
}

/** Loads the SDK of MCP here alone: the other commands do not need it. */
async function mcp(task: Task): Promise<number> {
  const { serveMcp } = await import("./serve.js");
  await serveMcp(task);
  return 0;
}

function hintOf(error: unknown, code: number): string {
  if (code === 2) return "Nothing was sent. See sluice --help.\n";
  if (error instanceof NoTask) return "";
  if (code === 3) return "It may be billed. Look at the account before you try again.\n";
  // a task that is known is paid for, whatever its error is about
  const isFree = code === 1 && isGatewayError(error) && error.billing !== undefined && !error.handle;
  return isFree ? "Nothing was billed.\n" : "";
}

/** Chooses the code that says what the next step is. */
function codeOf(error: unknown, isSent: boolean, signal: AbortSignal): number {
  if (error instanceof UsageError) return 2;
  if (error instanceof NotReady) return signal.aborted ? 130 : 4;
  if (error instanceof TaskFailed || error instanceof NoTask) return 1;
  if (!isGatewayError(error)) return isSent ? 3 : signal.aborted ? 130 : 1;
  if (error.name === "ValidationError" || error.name === "ConfigurationError") return 2;
  return error.billing === "maybe" ? 3 : 1;
}

const NO_LISTENER = /ECONNREFUSED|ConnectionRefused|bad port/;
const NO_HOST = /ENOTFOUND|EAI_AGAIN/;

/** Writes an error in the words of the command line. */
function wordsOf(error: unknown, address: string, args: readonly string[]): string {
  const message = describeThrown(error);
  if (!isGatewayError(error)) return message;
  if (error.name === "StreamError" && partialOf(error) !== undefined)
    return message.replace(/; `partial` has .*/s, "; what came is above");
  if (error.name === "ConnectionError" && error.billing === "none") {
    const { host } = new URL(address);
    const { message: text, cause } = (error.cause ?? {}) as { message?: string; cause?: { code?: string } };
    const reason = `${text} ${cause?.code} ${(cause as Error | undefined)?.message}`;
    if (NO_LISTENER.test(reason)) return `Nothing listens at ${host}. Check the address.`;
    if (NO_HOST.test(reason)) return `There is no host ${host}. Check the address and the network.`;
  }
  if (error.name !== "ValidationError") return message;
  // the command writes fields by `--set`
  const lines = error.issues.map(({ path, message: says }) => {
    const [, parent] = /^belongs in `(\w+)`/.exec(says) ?? [];
    const [, value = "…"] = args.map((arg) => arg.split(/=(.*)/s)).find(([name]) => name === path) ?? [];
    if (parent) return `Write --set ${parent}.${path}=${value}`;
    return path ? `${path}: ${says}` : says;
  });
  return lines.join("\n");
}

/** Returns the text of an answer that broke off. */
function partialOf(error: unknown): string | undefined {
  const text = (error as { partial?: { content?: unknown } }).partial?.content;
  return typeof text === "string" && text !== "" ? text : undefined;
}

function factsOf(error: unknown): object {
  if (error instanceof NotReady) return { name: error.name, id: error.id };
  if (!isGatewayError(error)) return { name: error instanceof Error ? error.name : "Error" };
  const { name, billing, requestId } = error;
  const text = partialOf(error);
  return { name, billing, requestId, ...(text !== undefined && { text }) };
}
