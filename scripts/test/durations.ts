import { existsSync, readFileSync, writeFileSync } from "node:fs";

const path = new URL("./durations.json", import.meta.url);

/** Seconds of each test file, by project. `pnpm test --record` writes them. */
export type Durations = Record<string, Record<string, number>>;

let recorded: Durations | undefined;

/** Returns the durations that an earlier run recorded. */
export function readDurations(): Durations {
  recorded ??= existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Durations) : {};
  return recorded;
}

/** Adds the durations of a run to the recorded durations. Drops removed files. */
export function recordDurations(durations: Durations): void {
  const all = readDurations();
  for (const [project, files] of Object.entries(durations)) all[project] = { ...all[project], ...files };
  const rows = Object.entries(all)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([project, files]) => [project, sortFiles(files)] as const)
    .filter(([, files]) => Object.keys(files).length > 0);
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`);
}

function sortFiles(files: Readonly<Record<string, number>>): Record<string, number> {
  const present = Object.entries(files).filter(([file]) => existsSync(file));
  return Object.fromEntries(present.sort(([a], [b]) => (a < b ? -1 : 1)));
}
