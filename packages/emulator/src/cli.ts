#!/usr/bin/env node
import { parseArgs } from "node:util";
import { createEmulator } from "./emulator.js";
import { type Served, serve } from "./serve.js";

const HELP = `Serves the Sluice emulator: the gateway, offline and free of charge.

  sluice-emulator [options]

  --port <number>   port to listen on; 0 takes any free one    (8788)
  --host <address>  address to listen on                       (127.0.0.1)
  --key <key>       key to accept; may be given several times  (a random one)
  --speed <factor>  1 is a human reading pace, 100 is brisk    (1)
  --cors            answer pages of other origins too
  --strict          refuse fields that the specification does not list
  --help            this text
`;

const options = {
  port: { type: "string", default: "8788" },
  host: { type: "string", default: "127.0.0.1" },
  key: { type: "string", multiple: true },
  speed: { type: "string", default: "1" },
  cors: { type: "boolean", default: false },
  strict: { type: "boolean", default: false },
  help: { type: "boolean", default: false, short: "h" },
} as const;

await run();

async function run() {
  const { values } = orExit(() => parseArgs({ options }));
  if (values.help) return console.log(HELP);
  const port = orExit(() => portFrom(values.port));
  const apiKeys = orExit(() => keysFrom(values.key)) ?? [
    `sk-sluice-${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`,
  ];
  const emulator = orExit(() =>
    createEmulator({ apiKeys, speed: Number(values.speed), cors: values.cors, strict: values.strict }),
  );
  let served: Served;
  try {
    served = await serve(emulator, { port, host: values.host });
  } catch (error) {
    return exit(listenProblem(error, port, values.host));
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop(served));
  console.log(greeting(served.url, apiKeys));
}

function greeting(url: string, [key = ""]: readonly string[]): string {
  const body = JSON.stringify({
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: "What can you do?" }],
    stream: true,
  });
  return `The Sluice emulator listens on ${url}
API key: ${key}

Try it:

curl -N ${url}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'

Stop it with Ctrl+C.`;
}

async function stop(served: Served) {
  // open streams are cut, not waited for
  await Promise.race([served.close(), new Promise((resolve) => setTimeout(resolve, 500))]);
  process.exit(0);
}

function portFrom(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new Error(`--port must be a number from 0 to 65535, got ${text}.`);
  return port;
}

function keysFrom(keys: readonly string[] | undefined): readonly string[] | undefined {
  if (keys?.includes(""))
    throw new Error("--key is empty: give a key, --key sk-test, or leave it out for a random one.");
  return keys;
}

function listenProblem(error: unknown, port: number, host: string): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE")
    return `Port ${port} is taken. Choose another with --port, or any free one with --port 0.`;
  if (code === "EACCES") return `Port ${port} needs more rights than this user has. Choose one above 1023.`;
  return `Can't listen on ${host}:${port}: ${error instanceof Error ? error.message : error}`;
}

function orExit<Result>(attempt: () => Result): Result {
  try {
    return attempt();
  } catch (error) {
    return exit(`${error instanceof Error ? error.message : error}\nSee sluice-emulator --help.`);
  }
}

function exit(message: string): never {
  console.error(message);
  process.exit(1);
}
