import { readdirSync, readFileSync } from "node:fs";

/**
 * Memory of the workerd processes that this process has started, in bytes: a Worker, and miniflare's R2.
 *
 * @param kind `VmRSS`: now; `VmHWM`: the most there ever was
 */
export function workerdMemory(kind: "VmRSS" | "VmHWM"): number {
  const statuses = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return readFileSync(`/proc/${name}/status`, "utf8");
      } catch {
        return [];
      }
    });
  const own = statuses.filter(
    (text) => /^Name:\s+workerd$/m.test(text) && new RegExp(`^PPid:\\s+${process.pid}$`, "m").test(text),
  );
  return own.reduce(
    (sum, text) => sum + Number(new RegExp(`^${kind}:\\s+(\\d+)`, "m").exec(text)?.[1]) * 1024,
    0,
  );
}
