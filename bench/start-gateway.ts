import { type ChildProcess, fork } from "node:child_process";

/** Starts the gateway in a child process, which exits with this process. */
export async function startGateway(): Promise<{ readonly address: string; readonly child: ChildProcess }> {
  const child = fork(new URL("./gateway.ts", import.meta.url));
  const port = await new Promise((resolve) => child.once("message", resolve));
  return { address: `http://127.0.0.1:${port}`, child };
}
