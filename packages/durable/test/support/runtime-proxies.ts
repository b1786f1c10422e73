import { join } from "node:path";
import { startUpstream } from "../../../worker-proxy/test/support/upstream.js";
import { expireOwners } from "./database-file.js";
import { createHostProgram } from "./host-process.js";
import { postgresURL } from "./hosts.js";
import { startDurableProxy } from "./workerd.js";

/** Where the proxy of `shared-plugins.ts` runs, in a process that a test can kill. */
export const runtimes = ["workerd", "Node", "Postgres"] as const;
export type Runtime = (typeof runtimes)[number];

/** A proxy in a process. */
export type RuntimeProxy = Awaited<ReturnType<typeof startProxy>>;

/** Starts a proxy with budgets, creates and streams, and a gateway for it. */
export async function startProxy(runtime: Runtime) {
  const process = await (runtime === "workerd" ? startDurableProxy() : startNode(runtime));
  return {
    ...process,
    /** Sends a request. With a body it is a POST. */
    send(user: string, path: string, { body, key, ...init }: SendInit = {}): Promise<Response> {
      const headers = { authorization: user, ...(key !== undefined && { "idempotency-key": key }) };
      const post = body && { method: "POST", body: JSON.stringify(body) };
      return process.request(path, { ...post, ...init, headers: { ...headers, ...init.headers } });
    },
    /** Kills the process, and starts another one on the same port. */
    async restart(): Promise<void> {
      await process.kill();
      await process.start();
    },
  };
}

interface SendInit extends Omit<RequestInit, "body" | "headers"> {
  readonly body?: object;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function startNode(runtime: Exclude<Runtime, "workerd">) {
  const upstream = await startUpstream();
  const program = await createHostProgram("shared-program");
  const target = runtime === "Node" ? join(program.folder, "sluice.db") : await postgresURL();
  const child = await program.run(target, `runtime_${program.folder.slice(-6).toLowerCase()}`, upstream.url);
  return {
    upstream,
    logs: child.logs,
    request: (path: string, init: RequestInit = {}) =>
      fetch(child.address + path, {
        ...init,
        headers: { "content-type": "application/json", ...(init.headers as object) },
      }),
    kill: () => child.kill(),
    start: () => child.start(),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    expireOwners: () => expireOwners(program.folder),
    async close() {
      await program.close();
      upstream.close();
    },
  };
}
