import { mediaLimits } from "@sluice/core/media";
import { assetRules } from "./assets.ts";
import { chatRules } from "./chat.ts";
import { imageRules } from "./images.ts";
import { modelsTable } from "./models-table.ts";
import type { Rule } from "./rule.ts";
import { videoRules } from "./videos.ts";

/** Every rule of the spec that can be checked before sending. */
export const allRules: readonly Rule[] = [...chatRules, ...imageRules, ...videoRules, ...assetRules];

/** The rules as a page: what the spec says, the rule's name, and the test that shows it on both sides of the wire. */
export function coveragePage(): string {
  const sections = [...new Set(allRules.map(({ section }) => section))].map((section) => {
    const rows = withSame(allRules.filter((rule) => rule.section === section)).map(rowOf);
    return [
      `## ${section}`,
      "",
      "| field | the spec says | rule | points to | kind |",
      "|---|---|---|---|---|",
      ...rows,
    ].join("\n");
  });
  return [
    "# What is checked before sending",
    "",
    "Each row of the spec's tables with its rule. For each value `tests/rules/rules.test.ts` has a test, _section · field: what the spec says_, which gives one request that keeps the rule and one that breaks it to the client and, raw, to the emulator. The values are transcribed from the spec by hand, apart from the tables that the schemas are made from: a wrong bound there turns tests red here. An error is not sent; a warning goes to `onEvent`, and the request goes through. Written by `pnpm check rules` from `tests/rules`.",
    "",
    "## Models",
    "",
    modelsTable(),
    "",
    sections.join("\n\n"),
    "",
    "## Media files",
    "",
    "What only the bytes can tell is checked by `@sluice/core/media` before a file is sent; `packages/core/test/platform/media.test.ts` has a test for each.",
    "",
    "| used as | limits | rules |",
    "|---|---|---|",
    ...Object.entries(mediaLimits).map(mediaRow),
    "",
  ].join("\n");
}

/** Rules of one field and name as one, with all that the spec says of it. */
function withSame(rules: readonly Rule[]): readonly Rule[] {
  const joined = new Map<string, Rule>();
  for (const rule of rules) {
    const key = [rule.field, rule.rule, rule.path, rule.refused !== undefined].join(" ");
    const before = joined.get(key);
    joined.set(key, before ? { ...before, says: `${before.says} · ${rule.says}` } : rule);
  }
  return [...joined.values()];
}

function rowOf({ field, says, rule, path, refused }: Rule): string {
  const cells = [code(field), says, code(rule), code(path), refused ? "error" : "warning"];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function mediaRow([use, limits]: [string, object]): string {
  const shown = JSON.stringify(limits).replaceAll('"', "").slice(1, -1).replaceAll(",", ", ");
  return `| ${code(use)} | ${shown} | ${code(`media.${use.replace("_", "-")}.*`)} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}
