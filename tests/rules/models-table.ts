import { type ChatModel, chatModels, imageModels, videoModels } from "@sluice/core/schemas";

/** The models as a table of Markdown, made from the tables of the core: ids, and what tells one from another. */
export function modelsTable(): string {
  const rows = [
    ...idsOf(chatModels).map((id) => ["chat", code(id), chatFacts(id)]),
    ...idsOf(imageModels).map((id) => ["images", code(id), `${imageModels[id].sizes.length} sizes`]),
    ...idsOf(videoModels).map((id) => ["videos", code(id), videoFacts(id)]),
  ];
  const table = [["use", "id", "facts"], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const [head = "", ...body] = table.map(
    (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [head, rule, ...body].join("\n");
}

function chatFacts(id: ChatModel): string {
  const { thinking, tools, seesImages, jsonMode, maxTokens } = chatModels[id];
  const thinks =
    thinking.length > 1 ? "thinking on or off" : thinking.length === 1 ? "always thinks" : "no thinking";
  const hasTools = tools === true ? "tools" : tools ? "tools that the spec does not list" : "no tools";
  return [
    thinks,
    hasTools,
    seesImages ? "sees images" : "text only",
    jsonMode ? "JSON mode" : "no JSON mode",
    `\`max_tokens\` up to ${maxTokens.toLocaleString("en-US")}`,
  ].join(", ");
}

function videoFacts(id: keyof typeof videoModels): string {
  const { duration, resolutions } = videoModels[id];
  return `${duration.min} to ${duration.max} seconds, ${resolutions.map(code).join(" ")}`;
}

function idsOf<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[];
}

function code(text: string): string {
  return `\`${text}\``;
}
