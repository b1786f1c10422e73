import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Endpoint } from "./endpoints.ts";
import { type Scenario, type ScenarioName, scenarios } from "./scenarios.ts";
import { type ClientName, clientNames, findVerdict, has, type Verdict } from "./verdicts.ts";

/*
 * Counts the outcomes that the tests hold each client to, in the guide:
 *
 *   node tests/clients/table.ts          prints the table
 *   node tests/clients/table.ts --write  writes it
 */

type Counts = Record<Verdict, number>;

const guide = join(import.meta.dirname, "../../docs/guides/other-clients.md");
/** The proxy of the table has the plugins for these clients. */
const shown = ["emulator", "adapting proxy"] as const;
const titles = Object.keys(scenarios) as ScenarioName[];

/** Returns the table as the guide has it. */
export function clientsTable(): string {
  const rows = clientNames.map((name) => ({ name, all: titles.filter((title) => has(name, title)).length }));
  const cells = (names: readonly ClientName[]) =>
    shown.map((endpoint) => formatCounts(countOutcomes(names, endpoint)));
  const lines = rows.map(({ name, all }) => [name, String(all), ...cells([name])]);
  const sum = rows.reduce((total, { all }) => total + all, 0);
  const total = [`all ${clientNames.length}`, String(sum), ...cells(clientNames)];
  return table([
    ["client", "scenarios", "the gateway itself", "the proxy"],
    ...lines,
    total.map((cell) => `**${cell}**`),
  ]);
}

/** Outcome at an endpoint. A scenario that no option changes has the outcome of the proxy without them. */
function findOutcome(name: ClientName, title: ScenarioName, endpoint: Endpoint): Verdict | undefined {
  const { adapts }: Scenario = scenarios[title];
  return findVerdict(name, title, endpoint === "adapting proxy" && !adapts ? "proxy" : endpoint);
}

function countOutcomes(names: readonly ClientName[], endpoint: Endpoint): Counts {
  const counts: Counts = { passes: 0, denied: 0, fails: 0 };
  for (const name of names)
    for (const title of titles) {
      const outcome = findOutcome(name, title, endpoint);
      if (outcome) counts[outcome] += 1;
    }
  return counts;
}

function formatCounts({ passes, denied, fails }: Counts): string {
  return [`${passes} work`, denied && `${denied} denied`, fails && `${fails} fail`]
    .filter(Boolean)
    .join(", ");
}

/** Writes rows as the formatter has them. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}

/** The guide, and its table with the columns `client` and `scenarios`. */
export function readGuide(): { readonly text: string; readonly found: string } {
  const text = readFileSync(guide, "utf8");
  const [found = ""] = /^\| client +\| scenarios .*\n(?:\|.*\n)*/m.exec(text) ?? [];
  return { text, found: found.trimEnd() };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { write: { type: "boolean" } } });
  const { text, found } = readGuide();
  if (values.write)
    writeFileSync(
      guide,
      text.replace(found, () => clientsTable()),
    );
  else console.log(clientsTable());
}
