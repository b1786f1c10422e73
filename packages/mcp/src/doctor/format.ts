import { NEEDS, NO_REQUEST, type Report, type Row, type Settings } from "./diagnose.js";

const KINDS: Readonly<Record<Report["kind"], string>> = {
  nothing: "does not respond",
  page: "is no API: it responds without JSON",
  emulator: "is the Sluice emulator",
  worker: "is a Sluice Worker",
  gateway: "is a gateway with chats and videos",
  openai: "is an OpenAI-style server without videos",
};

const VERDICTS = { holds: "ok", differs: "differs", unclear: "unclear" } as const;
const MIN_COLUMNS = 60;
const NAME_COLUMN = 11;

/** Formats a report for a terminal. No line with words is longer than `width`. */
export function formatReport(report: Report, width: number): string {
  const { address, kind, failure, rows, settings, requests, tokens } = report;
  const spent = tokens > 0 ? `, ${tokens} tokens` : "";
  const head = wrap(
    `${address} ${KINDS[kind]}${failure === undefined ? `. ${formatCount(requests, "request")}${spent}.` : `: ${failure}.`}`,
    width,
  );
  if (failure !== undefined) return `${head.join("\n")}\n`;
  const shown = rows.filter((row) => !isSkipped(row));
  const names = Math.max(...shown.map(({ name }) => name.length));
  const groups = [...groupRows(shown, ({ group }) => group)].map(([group, own]) =>
    [group, ...own.flatMap((row) => formatRow(row, names, width))].join("\n"),
  );
  return [head.join("\n"), ...groups, formatSummary(rows), formatSettings(settings, report)]
    .map((part) => `${part}\n`)
    .join("\n");
}

/** Counts the rows of each verdict, and says how to check the others. */
function formatSummary(all: readonly Row[]): string {
  const count = (verdict: Row["verdict"]) => all.filter((row) => row.verdict === verdict).length;
  const skipped = groupRows(all.filter(isSkipped), ({ found }) => found);
  const lines = [...skipped].map(([reason, { length }]) => {
    const rows = formatCount(length, "row");
    if (reason === NO_REQUEST) return `  ${rows}: no request shows ${length === 1 ? "it" : "them"}`;
    return `  ${rows} ${length === 1 ? "needs" : "need"} ${reason.slice(NEEDS.length)}`;
  });
  const summary = `${count("holds")} ok, ${count("differs")} differ, ${count("unclear")} not checked`;
  return [`${summary}${lines.length > 0 ? ":" : "."}`, ...lines].join("\n");
}

/** Checks for a row that the user did not allow, or that no request shows. */
function isSkipped({ verdict, check, found }: Row): boolean {
  return verdict === "unclear" && (check === "none" || found.startsWith(NEEDS));
}

function formatRow({ name, text, verdict, found, remedy }: Row, names: number, width: number): string[] {
  const details = {
    holds: [],
    differs: [`Found: ${found}`, `Do: ${remedy}`],
    unclear: [`Not checked: ${found}`],
  }[verdict];
  const word = VERDICTS[verdict];
  if (width < MIN_COLUMNS)
    return [
      `  ${word}  ${name}`,
      ...[text, ...details].flatMap((line) => wrap(line, width - 4).map((part) => `    ${part}`)),
    ];
  const indent = NAME_COLUMN + names + 2;
  const lines = [text, ...details].flatMap((line) => wrap(line, width - indent));
  return lines.map((line, at) =>
    at === 0
      ? `  ${word.padEnd(NAME_COLUMN - 2)}${name.padEnd(names + 2)}${line}`
      : `${" ".repeat(indent)}${line}`,
  );
}

/** Formats the settings as the code of `createClient`. */
export function formatSettings(
  settings: Settings,
  { kind, offers = "" }: Pick<Report, "kind" | "offers">,
): string {
  const { baseURL, gateway, retry, idempotencyKeys } = settings;
  const isWorker = kind === "worker";
  const lines = [
    `baseURL: ${JSON.stringify(baseURL)},`,
    isWorker ? "" : "apiKey: process.env.GATEWAY_API_KEY,",
    gateway ? `gateway: ${formatObject(gateway)},` : "",
    retry ? `retry: ${formatObject(retry)},` : "",
    idempotencyKeys === undefined ? "" : `idempotencyKeys: ${idempotencyKeys},`,
    offers.includes("chat-once") ? "resume: streamResumption()," : "",
  ].filter(Boolean);
  return ["Settings that fit:", "createClient({", ...lines.map((line) => `  ${line}`), "});"].join("\n");
}

/** Formats a report as a Markdown page. */
export function formatPage(report: Report, date: string): string {
  const { address, kind, failure, rows, requests, tokens, settings } = report;
  const toCell = (text: string) => text.replaceAll("|", "\\|").replace(/\s+/g, " ");
  const table = rows.map(({ name, text, verdict, found, remedy }) => {
    const more = verdict === "differs" ? `${found}. ${remedy}` : verdict === "unclear" ? found : "";
    return `| \`${name}\` | ${toCell(text)} | ${VERDICTS[verdict]} | ${toCell(more)} |`;
  });
  return `# ${address}

\`sluice doctor\` of ${date}: this address ${KINDS[kind]}${failure === undefined ? "" : `: ${failure}`}. ${formatCount(requests, "request")}, ${tokens} tokens.

| assumption | meaning | result | found |
| --- | --- | --- | --- |
${table.join("\n")}

\`\`\`ts
${formatSettings(settings, report).replace(/^.*\n/, "")}
\`\`\`

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

export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Breaks a text between its words, and keeps its indent. Cuts a word that is longer than a line. */
export function wrap(text: string, width: number): string[] {
  const indent = /^ */.exec(text)?.[0] ?? "";
  const room = Math.max(16, width - indent.length);
  const lines: string[] = [];
  for (const word of text
    .trim()
    .split(/\s+/)
    .flatMap((whole) => whole.match(new RegExp(`.{1,${room}}`, "g")) ?? [])) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map((line) => indent + line);
}
