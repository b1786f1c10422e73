import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readCPU } from "./capacity-cpu.ts";

/*
 * Counts what each kind of work uses of Durable Objects and R2, and measures its CPU. Prints both with the list prices
 * below, and writes the costs by users into docs/guides/where-data-is-stored.md. It takes three minutes.
 *
 *     node bench/capacity.ts
 */

/** List prices of Cloudflare's paid plan in dollars, beyond the included usage. */
const PRICES = {
  day: "November 2026",
  workerRequest: 0.3e-6,
  objectRequest: 0.15e-6,
  rowRead: 0.001e-6,
  rowWritten: 1e-6,
  gigabyteSecond: 12.5e-6,
  classA: 4.5e-6,
  cpuMillisecond: 0.02e-6,
};
/** Memory for which an object is charged, in gigabytes. */
const GIGABYTES = 0.128;
const RESPONSES = 10;
const DAYS = 30;
/** Ratio of the busiest hour of a day to the average. */
const PEAK = 3;
const USERS = [1000, 100_000, 10_000_000];
/** Time of a response, and the maximum number of jobs and readers of a process: a response is a job with a reader. */
const RESPONSE_SECONDS = 30;
const MAX_LOCAL = 5000;
/**
 * Transactions of a stored response of 30 s with a budget of its user: claim, two appends and end, and three of the timer
 * that deletes it. `stored-costs-postgres.test.ts` and `jobs-processes.test.ts` count them.
 */
const TRANSACTIONS = 7;

interface Use {
  readonly name: string;
  readonly requests: number;
  readonly alarms: number;
  readonly read: number;
  readonly written: number;
  readonly classA?: number;
  readonly seconds?: number;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const page = `${root}docs/guides/where-data-is-stored.md`;
const MARKS = /(<!-- capacity: written by bench\/capacity\.ts -->\n).*(<!-- end of capacity -->)/s;

const uses = countUses();
const cpu = await readCPU();
const text = `\n${formatUsers()}\n\n${formatHosts()}\n\n`;
console.log(`\n${formatUses()}\n${text}`);
writeFileSync(
  page,
  readFileSync(page, "utf8").replace(MARKS, (_, begin, end) => begin + text + end),
);
execFileSync("npx", ["--no-install", "biome", "format", "--write", page], { cwd: root, stdio: "ignore" });

function countUses(): readonly Use[] {
  const file = "packages/durable/test/capacity.workerd.ci.test.ts";
  const printed = execFileSync("npx", ["--no-install", "vitest", "run", "--maxWorkers", "1", file], {
    cwd: root,
    encoding: "utf8",
    // the tier of the file: its tests may take more than 30 s
    env: { ...process.env, SLUICE_TIER: "ci" },
  });
  return [...printed.matchAll(/capacity (\{.*\})/g)].map(([, json = ""]) => JSON.parse(json));
}

function computePrice({ requests, alarms, read, written, classA = 0, seconds = 0 }: Use): number {
  return (
    (requests + alarms) * PRICES.objectRequest +
    read * PRICES.rowRead +
    written * PRICES.rowWritten +
    classA * PRICES.classA +
    seconds * GIGABYTES * PRICES.gigabyteSecond
  );
}

function sumPrices(...names: string[]): number {
  return names.reduce((sum, name) => {
    const use = uses.find((one) => one.name === name);
    if (!use) throw new Error(`nothing was counted for ${name}`);
    return sum + computePrice(use);
  }, 0);
}

function formatUses(): string {
  const rows = uses.map((use) => [
    use.name,
    String(use.requests),
    String(use.alarms),
    String(use.read),
    String(use.written),
    String(use.classA ?? 0),
    cpu.has(use.name) ? `${cpu.get(use.name)?.toFixed(1)} ms` : "",
    formatDollars(computePrice(use) * 1e6),
  ]);
  const head = ["", "requests", "alarms", "rows read", "rows written", "class A", "CPU", "a million of them"];
  const own = ["the proxy, a short response", "the proxy, a response of 30 s"].map((name) => {
    return [
      name,
      "",
      "",
      "",
      "",
      "",
      `${cpu.get(name)?.toFixed(1)} ms`,
      formatDollars(PRICES.workerRequest * 1e6),
    ];
  });
  return `${formatTable(head, [...own, ...rows])}\n\nList prices of ${PRICES.day}, without what a plan includes, and without CPU time, of which a Worker pays ${formatDollars(PRICES.cpuMillisecond * 1e6)} for a million milliseconds. CPU is that of Worker and objects together, of one machine with two cores; that of a budget is on top of the response's. The Worker's own request is ${formatDollars(PRICES.workerRequest * 1e6)} a million more.`;
}

function formatUsers(): string {
  const budgets = 3 * sumPrices("a budget");
  // a stored response was counted with one budget
  const stored = sumPrices("a stored response", "the deletion of a stored response") - sumPrices("a budget");
  const video = sumPrices("a video of a minute that is watched", "its end, its webhook and its copy");
  const rows = USERS.map((users) => {
    const responses = users * RESPONSES;
    const month = (price: number) => formatDollars(responses * DAYS * price);
    const rate = calculateRate(users);
    return [
      users.toLocaleString("en"),
      rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en"),
      month(PRICES.workerRequest),
      month(budgets),
      month(stored),
      formatDollars(users * DAYS * video),
    ];
  });
  const head = [
    "users a day",
    "responses a second, at the peak",
    "proxy",
    "3 budgets",
    "stored responses",
    "a video each",
  ];
  return `${formatTable(head, rows)}\n\nDollars a month on Cloudflare, for ${RESPONSES} responses of 30 s for each user and day, by list prices of ${PRICES.day} without CPU time. Each column is on top of the ones before it. The peak is ${PEAK} times the average.`;
}

/** Formats the load of processes and of the database on Node and Postgres. */
function formatHosts(): string {
  const rows = USERS.map((users) => {
    const rate = calculateRate(users);
    const open = rate * RESPONSE_SECONDS;
    const processes = Math.ceil((2 * open) / MAX_LOCAL);
    return [users, open, processes, rate * TRANSACTIONS].map(formatCount);
  });
  const head = ["users a day", "open responses, at the peak", "processes", "transactions a second"];
  return `${formatTable(head, rows)}\n\nOn Node and Postgres, for the same stored responses with a budget of the user. A process holds ${formatCount(MAX_LOCAL / 2)} open responses, each with one reader.`;
}

/** Returns the responses a second in the busiest hour. */
function calculateRate(users: number): number {
  return ((users * RESPONSES) / 86_400) * PEAK;
}

function formatCount(count: number): string {
  return Math.ceil(count).toLocaleString("en");
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function formatDollars(amount: number): string {
  return `$${amount < 100 ? amount.toFixed(2) : Math.round(amount).toLocaleString("en")}`;
}
