import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { readResults } from "./faults/results.ts";

const run = promisify(execFile);
const script = join(import.meta.dirname, "faults/table.ts");
const { verdicts, versions } = readResults();

describe("The guide has the verdicts on what a client makes of each fault", () => {
  // after a change: node tests/clients/faults/table.ts --run
  test.each(Object.keys(versions))("%s", async (client) => {
    // in a separate process, which ends together with the timers of clients that hang
    const { stdout } = await run(process.execPath, [script, "--client", client]);
    const [line = ""] = stdout.trimEnd().split("\n").slice(-1);
    const stored = Object.entries(verdicts).map(([fault, row]) => [fault, row[client]]);
    expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(stored))));
  });
});
