import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** The demo, started as `pnpm demo` does, after the build. */
export interface Demo {
  readonly address: string;
  /** Output so far. */
  readonly printed: () => string;
  /** Ids of its processes and their descendants. Empty if the system can't list them. */
  readonly processes: () => number[];
  /** Ctrl-C; resolves to the exit code. */
  readonly interrupt: () => Promise<number | null>;
}

/**
 * Starts the demo of the repository at `root` on `port`, and waits until it says where it is. Its gateway is `speed`
 * times as fast as usual.
 */
export async function startDemo(port: number, speed = 1, root = repository): Promise<Demo> {
  const args = ["--no-build", "--port", String(port), "--speed", String(speed)];
  const child = spawn(process.execPath, ["scripts/demo.ts", ...args], {
    cwd: root,
    env: { ...process.env, PATH: `${repository}node_modules/.bin:${process.env["PATH"]}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // in case a test timed out before it could interrupt it
  process.once("exit", () => child.kill("SIGINT"));
  let text = "";
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const address = await new Promise<string>((resolve, reject) => {
    const read = (piece: Buffer) => {
      text += piece;
      const found = /Sluice studio\s+(\S+)[\s\S]*Ctrl-C/.exec(text)?.[1];
      if (found) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    void exited.then((code) => reject(new Error(`the demo ended with ${code}:\n${text}`)));
  });
  return {
    address,
    printed: () => text,
    processes: () => [child.pid ?? 0, ...listDescendants(child)],
    interrupt() {
      child.kill("SIGINT");
      return exited;
    },
  };
}

/** Returns true if a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // an ended process is listed until its parent has read its status
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

function listDescendants({ pid }: ChildProcess): number[] {
  const parents = new Map<number, number>();
  try {
    for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      try {
        const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
        parents.set(Number(entry), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
      } catch {
        // it has already ended
      }
  } catch {
    return [];
  }
  const isOurs = (id: number): boolean => {
    const parent = parents.get(id);
    return parent !== undefined && (parent === pid || isOurs(parent));
  };
  return [...parents.keys()].filter(isOurs);
}
