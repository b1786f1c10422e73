import { spawn } from "node:child_process";

interface Run {
  /** Exit code; null for a signal. */
  readonly status: number | null;
  /** Output of the process. */
  readonly output: string;
}

/** Runs vitest with the project's reporter. */
export function runVitest(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
  return run("vitest", ["run", "--passWithNoTests", ...args], env);
}

/** Runs a script of `package.json`, or a file with node. Returns a line for its success, or its output. */
export async function runScript(
  script: readonly string[],
): Promise<{ readonly line: string; readonly failure?: string }> {
  const [command = "", ...args] = script;
  const name = script.join(" ");
  const startedAt = performance.now();
  const isFile = command === "node";
  const { status, output } = await run(isFile ? command : "pnpm", isFile ? args : ["run", ...script]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (status !== 0) return { line: `${output}\n✗ ${name}`, failure: `${name} failed` };
  const hints = output.split("\n").filter((line) => line.startsWith("⚠"));
  return { line: [`✓ ${name} (${seconds} s)`, ...hints].join("\n") };
}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (piece: string) => {
      output += piece;
    });
  return new Promise((resolve) => {
    child.once("error", ({ message }) =>
      resolve({ status: 1, output: `${message}: run this by npx -y pnpm@12.21.0 test` }),
    );
    child.once("close", (status) => resolve({ status, output: output.trim() }));
  });
}
