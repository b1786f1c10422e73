#!/usr/bin/env node
import { mkdirSync } from "node:fs";
import { describeThrown } from "@sluice/core/extend";
import { type Arguments, createHelp, parseArguments, readVersion } from "./command/arguments.js";
import { formatFaultTable } from "./command/fault-table.js";
import { describeExchange, describeRequest, formatRequestLine } from "./command/request-line.js";
import { runBeside } from "./command/run-beside.js";
import { readScript } from "./command/script-file.js";
import { wrap } from "./command/text.js";
import { createEmulator } from "./emulator.js";
import { readFaultCases } from "./fault-cases/read.js";
import {
  createRecorder,
  createReplay,
  type Recording,
  readRecordings,
  writeRecording,
} from "./recordings/index.js";
import type { RecordedExchange } from "./recordings/record.js";
import { type Served, serve } from "./serve.js";
import type { GatewayDifference } from "./server/differences.js";
import type { EmulatorRequest } from "./server/request-log.js";
import { createRedactor } from "./server/secrets.js";

/** Longest wait for open connections when the process stops, in milliseconds. */
const MAX_CLOSE_MS = 500;

await run(runOrExit(() => parseArguments(process.argv.slice(2))));

async function run(given: Arguments) {
  switch (given.task) {
    case "help":
      return console.log(createHelp(process.stdout.columns ?? 80));
    case "version":
      return console.log(readVersion());
    case "faults":
      return console.log(formatFaultTable(readFaultCases(), process.stdout.columns ?? 80));
    case "record":
      return record(given);
    case "replay":
      return replay(given);
    default:
      return emulate(given);
  }
}

async function emulate({ speed, cors, differs, script, quiet, command, ...given }: Arguments) {
  const apiKeys = given.keys ?? [`sk-sluice-${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`];
  const redactor = createRedactor(apiKeys);
  const print = (record: EmulatorRequest) =>
    console.log(redactor.redactText(formatRequestLine(describeRequest(record))));
  const emulator = runOrExit(() =>
    createEmulator({
      apiKeys,
      speed,
      cors,
      // `createEmulator` refuses an unknown name
      differs: differs as readonly GatewayDifference[],
      faultCases: readFaultCases(),
      ...(script === undefined ? {} : { script: readScript(script) }),
      ...(quiet ? {} : { onEnd: print }),
    }),
  );
  if (command) return runWithCommand(command, await startServer(emulator, given), apiKeys);
  const { url } = await serveUntilSignal(emulator, given);
  console.log(formatGreeting(url, apiKeys));
}

/** Runs a command with the emulator as its gateway. */
async function runWithCommand(command: readonly string[], { url, close }: Served, [key]: readonly string[]) {
  console.log(`The Sluice emulator is the gateway: ${url}, offline and free of charge.\n`);
  const env = {
    ...process.env,
    GATEWAY_URL: url,
    GATEWAY_API_KEY: key,
    // OpenAI clients of every language read these
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: key,
  };
  try {
    process.exitCode = await runBeside(command, env);
  } catch (error) {
    return exit((error as Error).message, 2);
  } finally {
    await close();
  }
}

async function record({ gateway, folder, quiet, ...given }: Arguments) {
  runOrExit(() => mkdirSync(folder, { recursive: true }));
  const save = (recording: Recording) => writeRecording(folder, recording);
  const print = (exchange: RecordedExchange) =>
    console.log(recorder.redactor.redactText(formatRequestLine(describeExchange(exchange))));
  const recorder = createRecorder({ gateway, save, ...(quiet ? {} : { onEnd: print }) });
  const { url } = await serveUntilSignal(recorder, given);
  console.log(`Recording ${new URL(gateway).host} into ${folder}. Send your requests, with your own key, to ${url}

Keys, tokens, data URIs and the queries of URLs are not recorded. Prompts and responses are.
Stop it with Ctrl+C.
`);
}

async function replay({ folder, speed, quiet, ...given }: Arguments) {
  const recordings = runOrExit(() => readRecordings(folder));
  const redactor = createRedactor();
  const print = (exchange: RecordedExchange) =>
    console.log(redactor.redactText(formatRequestLine(describeExchange(exchange))));
  const replayed = createReplay({ recordings, speed, ...(quiet ? {} : { onEnd: print }) });
  const { url } = await serveUntilSignal(replayed, given, () => {
    const { misses } = replayed;
    if (misses.length === 0) return 0;
    console.error(
      `\n${misses.length} of the requests had no recording:\n${misses.map((miss) => `  ${miss}`).join("\n")}`,
    );
    return 1;
  });
  console.log(`Replaying ${recordings.length} recordings of ${folder} on ${url}

A request that fits no recording gets 400, and this command then ends with 1.
Stop it with Ctrl+C.
`);
}

/** Starts a server, and exits when a signal stops the process. `onStop` returns the exit code. */
async function serveUntilSignal(
  handler: Parameters<typeof serve>[0],
  { port, host }: Pick<Arguments, "port" | "host">,
  onStop: () => number = () => 0,
): Promise<Served> {
  const served = await startServer(handler, { port, host });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => stopAndExit(served, onStop));
  return served;
}

async function startServer(
  handler: Parameters<typeof serve>[0],
  { port, host }: Pick<Arguments, "port" | "host">,
): Promise<Served> {
  try {
    return await serve(handler, { port, host });
  } catch (error) {
    return exit(describeListenError(error, port, host), 1);
  }
}

function formatGreeting(url: string, [key = ""]: readonly string[]): string {
  const body = JSON.stringify({
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: "What can you do?" }],
    stream: true,
  });
  return `The Sluice emulator listens on ${url}
API key: ${key}

Try it:

curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'

Models, faults and endpoints: ${url}
Known faults of gateways, each at its own address: ${url}/faults
Each request prints a line. Stop it with Ctrl+C.
`;
}

async function stopAndExit(served: Served, onStop: () => number) {
  // a server that does not close in time must not delay the exit
  await Promise.race([served.close(), new Promise((resolve) => setTimeout(resolve, MAX_CLOSE_MS))]);
  process.exit(onStop());
}

function describeListenError(error: unknown, port: number, host: string): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return `Port ${port} is taken. Choose another with --port, or any free one with --port 0.`;
  if (code === "EACCES") return `Port ${port} needs more rights than this user has. Choose one above 1023.`;
  return `Can't listen on ${host}:${port}: ${describeThrown(error)}`;
}

/** Ends the process with 2, as `sluice` does, if the arguments are wrong. */
function runOrExit<Result>(attempt: () => Result): Result {
  try {
    return attempt();
  } catch (error) {
    return exit(`${describeThrown(error)}\nSee sluice-emulator --help.`, 2);
  }
}

function exit(message: string, code: 1 | 2): never {
  const { columns } = process.stderr;
  const lines = message.split("\n").flatMap((line) => (columns ? wrap(line, columns) : line));
  console.error(lines.join("\n"));
  process.exit(code);
}
