import { wrap } from "../base/wrap.js";
import { NEEDS, ONLY_USE, type Report, type Row } from "./diagnose.js";

const KINDS: Readonly<Record<Report["kind"], string>> = {
  nothing: "does not respond",
  page: "is not an API: it responds without JSON",
  foreign: "is an API without chats, images and videos at this address",
  closed: "is an API that refuses requests without a right key",
  indistinct: "gives a chat and an unknown path the same response, so it does not show what it offers",
  emulator: "is the Sluice emulator",
  worker: "is a Sluice Worker",
  gateway: "is a gateway with chats and videos",
  openai: "is an OpenAI-style server without videos",
};

/** Minimum width of a terminal that shows the text of a row beside its name. */
const MIN_COLUMNS = 60;
/** Column of the name of a row, after the verdict. */
const NAME_COLUMN = 11;

/** Formats a report for a terminal. No line with words is longer than `width`. */
export function formatReport(report: Report, width: number): string {
  const { rows, failure } = report;
  const head = wrap(describeServer(report), width).join("\n");
  if (failure !== undefined) return `${head}\n`;
  const checked = rows.filter(({ verdict }) => verdict !== "unclear");
  const nameWidth = Math.max(...checked.map(({ name }) => name.length));
  const groups = [...groupRows(checked, ({ group }) => group)].map(([group, groupedRows]) =>
    [group, ...groupedRows.flatMap((row) => formatRow(row, nameWidth, width))].join("\n"),
  );
  const settings = canConnect(report) ? [formatSettings(report)] : [];
  const parts = [head, ...groups, formatSummary(rows, width), ...settings];
  return parts.map((part) => `${part}\n`).join("\n");
}

function describeServer({ address, kind, failure, requests, tokens }: Report): string {
  if (failure !== undefined) return `${address} ${KINDS[kind]}: ${failure}.`;
  const spent = tokens > 0 ? `, ${tokens} tokens` : "";
  return `${address} ${KINDS[kind]}. ${formatCount(requests, "request")}${spent}.`;
}

function formatRow({ name, text, verdict, found, remedy }: Row, nameWidth: number, width: number): string[] {
  const word = verdict === "holds" ? "ok" : "differs";
  const texts = verdict === "holds" ? [text] : [text, `Found: ${found}`, `Do: ${remedy}`];
  if (width < MIN_COLUMNS)
    return [`  ${word}  ${name}`, ...texts.flatMap((line) => wrap(line, width, "    "))];
  const indent = " ".repeat(NAME_COLUMN + nameWidth + 2);
  const [first = "", ...rest] = texts.flatMap((line) => wrap(line, width, indent));
  const start = `  ${word.padEnd(NAME_COLUMN - 2)}${name}`;
  return [start.padEnd(indent.length) + first.slice(indent.length), ...rest];
}

/** Counts the rows of each verdict, and gives the reasons of `unclear`. */
function formatSummary(rows: readonly Row[], width: number): string {
  const pick = (verdict: Row["verdict"]) => rows.filter((row) => row.verdict === verdict);
  const unclear = pick("unclear");
  const isExpected = ({ found }: Row) => found === ONLY_USE || found.startsWith(NEEDS);
  // unexpected reasons come first
  const sorted = unclear.toSorted((a, b) => Number(isExpected(a)) - Number(isExpected(b)));
  const lines = [...groupRows(sorted, ({ found }) => found)].flatMap(([reason, sameReason]) => {
    const count = formatCount(sameReason.length, "row");
    const names = sameReason.map(({ name }) => name).join(", ");
    const text =
      reason === ONLY_USE
        ? `${count}: only use shows ${sameReason.length === 1 ? "it" : "them"}`
        : reason.startsWith(NEEDS)
          ? `${count} ${sameReason.length === 1 ? "needs" : "need"} ${reason.slice(NEEDS.length)}`
          : `${names}: ${reason}`;
    return wrap(text, width, "  ");
  });
  const counts = `${pick("holds").length} ok, ${pick("differs").length} differ, ${unclear.length} not checked`;
  return [`${counts}${lines.length > 0 ? ":" : "."}`, ...lines].join("\n");
}

/** Checks if a client could use the server at all. */
function canConnect({ kind }: Report): boolean {
  return kind !== "page" && kind !== "foreign";
}

/** Formats the settings as the code of `createClient`. */
function formatSettings({ settings, kind, features = "" }: Report): string {
  const { baseURL, gateway, retry, idempotencyKeys } = settings;
  const lines = [
    `baseURL: ${JSON.stringify(baseURL)},`,
    kind === "worker" ? "" : "apiKey: process.env.GATEWAY_API_KEY,",
    gateway ? `gateway: ${formatObject(gateway)},` : "",
    retry ? `retry: ${formatObject(retry)},` : "",
    idempotencyKeys === undefined ? "" : `idempotencyKeys: ${idempotencyKeys},`,
    features.includes("resumable-streams") ? "resume: streamResumption()," : "",
  ].filter(Boolean);
  return ["Settings that fit:", "createClient({", ...lines.map((line) => `  ${line}`), "});"].join("\n");
}

/** Formats a report as a Markdown page. */
export function formatPage(report: Report, date: string): string {
  const toCell = (text: string) => text.replaceAll("|", "\\|").replace(/\s+/g, " ");
  const table = report.rows.map(({ name, text, verdict, found, remedy }) => {
    const details = { holds: "", differs: `${found}. ${remedy}`, unclear: found }[verdict];
    return `| \`${name}\` | ${toCell(text)} | ${verdict} | ${toCell(details)} |`;
  });
  return `# ${report.address}

\`sluice doctor\` of ${date}: ${describeServer(report)}

| assumption | meaning | result | found |
| --- | --- | --- | --- |
${table.join("\n")}
${canConnect(report) ? `\n\`\`\`ts\n${formatSettings(report).replace(/^.*\n/, "")}\n\`\`\`\n` : ""}
The recordings have no keys. Replay them with \`npx sluice-emulator --recordings recordings\`.
`;
}

function groupRows(rows: readonly Row[], readKey: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(readKey(row), [...(groups.get(readKey(row)) ?? []), row]);
  return groups;
}

function formatObject(value: object): string {
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${JSON.stringify(field)}`);
  return `{ ${fields.join(", ")} }`;
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
