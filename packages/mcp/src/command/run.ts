import type { Client } from "@sluice/core";
import { isGatewayError } from "@sluice/core";
import { describeThrown } from "@sluice/core/internal";
import { readVersion } from "../version.js";
import { readArguments } from "./arguments.js";
import { chat } from "./chat.js";
import { completionFor } from "./completion.js";
import { connect, type Environment, UsageError } from "./connect.js";
import { HELP } from "./help.js";
import { image } from "./image.js";
import { serveMcp } from "./serve.js";
import { json, NotReady, type Task, TaskFailed } from "./task.js";
import { type Output, withoutControls, withProgress } from "./terminal.js";
import { video } from "./video.js";

/** The world of a command: its streams, its environment and its end. */
export interface World extends Pick<Task, "input" | "signal"> {
  readonly out: Output;
  readonly err: Output;
  readonly args: readonly string[];
  readonly env: Environment;
  /** Text of `--help`. */
  readonly help?: string;
}

/** Runs a command, and returns the code that the process ends with. */
export async function run(world: World): Promise<number> {
  const { signal } = world;
  const out = withoutControls(world.out);
  const err = withProgress(world.err);
  const isJSON = world.args.includes("--json");
  let isSent = false;
  let scrub = (text: string) => text;
  try {
    const args = readArguments(world.args);
    if (args.help) return say(world.help ?? HELP);
    if (args.version) return say(`${readVersion()}\n`);
    if (args.command === "completion") return say(completionFor(args.words[0]));
    const client = connect(args["base-url"], world.env, (text) => err.write(`${text}\n`));
    scrub = client.scrub;
    const task = { ...world, out, err, args, client: noting(client) };
    const verbs = { chat, image, video, mcp: serveMcp };
    await verbs[args.command as keyof typeof verbs](task);
    return 0;
  } catch (error) {
    const code = codeOf(error, isSent, signal);
    const message = scrub(describeThrown(error));
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
    return {
      ...client,
      emit(event) {
        if (event.type === "request" && event.model !== undefined) isSent = true;
        client.emit(event);
      },
    };
  }
}

function hintOf(error: unknown, code: number): string {
  if (code === 2) return "Nothing was sent. See sluice --help.\n";
  if (code === 3) return "It may be billed. Look at the account before you try again.\n";
  // a task that is known is paid for, whatever its error is about
  const isFree = code === 1 && isGatewayError(error) && error.outcome !== undefined && !error.handle;
  return isFree ? "Nothing was billed.\n" : "";
}

/** Chooses the code that says what the next step is. */
function codeOf(error: unknown, isSent: boolean, signal: AbortSignal): number {
  if (error instanceof UsageError) return 2;
  if (error instanceof NotReady) return signal.aborted ? 130 : 4;
  if (error instanceof TaskFailed) return 1;
  if (!isGatewayError(error)) return isSent ? 3 : signal.aborted ? 130 : 1;
  if (error.name === "ValidationError" || error.name === "ConfigurationError") return 2;
  return error.outcome === "unknown" ? 3 : 1;
}

function factsOf(error: unknown): object {
  if (error instanceof NotReady) return { name: error.name, id: error.id };
  if (!isGatewayError(error)) return { name: error instanceof Error ? error.name : "Error" };
  const { name, outcome, requestId } = error;
  return { name, outcome, requestId };
}
