import { spawn } from "node:child_process";

/**
 * Runs a command and resolves with its exit code. Forwards the signals that end this process.
 *
 * @throws Error that names the command, if it can't be started.
 */
export function runBeside([name = "", ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  // npm commands are scripts on Windows, which only a shell starts
  const child = spawn(name, args, { stdio: "inherit", env, shell: process.platform === "win32" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => reject(new Error(`Can't run ${name}. Is it installed?`, { cause })));
    child.once("close", (code, signal) => resolve(code ?? (signal === "SIGINT" ? 130 : 143)));
  });
}
