import { readFileSync } from "node:fs";
import { type Assumption, assumptions } from "@sluice/emulator/assumptions";

/** The page with the rules of the wire, which ends with the table of assumptions. */
export const wirePage = new URL("../../docs/spec/wire.md", import.meta.url);

/** Returns the page with the table of assumptions as the package has it. */
export function fillWirePage(page = readFileSync(wirePage, "utf8")): string {
  const [before = ""] = page.split(/(?<=\n## 7\. Assumptions\n\n.*\n\n)/);
  return `${before}${formatTable()}\n`;
}

function formatTable(): string {
  const rows = Object.entries<Assumption>(assumptions).map(([name, { text, rules = [], check }]) => [
    `\`${name}\``,
    text,
    rules.join(", "),
    check === "none" ? "" : check,
  ]);
  const all = [["name", "assumption", "rules", "shown by"], ...rows];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? [];
  const lines = all.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`);
  return lines.toSpliced(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`).join("\n");
}
