import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/**
 * Runs a task while no other process holds the same lock file. The file has the id of the process that holds it. A lock
 * of a process that has ended is taken over.
 */
export async function runInTurn<T>(file: string, task: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  while (!lock(file)) await wait(100);
  try {
    return await task();
  } finally {
    rmSync(file, { force: true });
  }
}

function lock(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    if (!isHeld(file)) rmSync(file, { force: true });
    return false;
  }
}

/** Checks if the process of a lock still runs. A lock that was just created or released counts as held: check again. */
function isHeld(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    if (pid > 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
