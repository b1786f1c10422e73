import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../packages/durable/test/support/postgres-server.ts";
import { type Figure, inTurns, short, toRatio } from "./harness.ts";
import { startWorker } from "./proxy-sides.ts";
import { startGateway } from "./start-gateway.ts";
import { writeStoredWorker } from "./stored-worker.ts";
import { formatTable } from "./topic.ts";

/*
 * Measures a stored and metered response on each host. Paced: 40 responses at once for each process, with 100 events, one
 * every 50 ms. Short: 160 responses without pauses, requested by 32 clients one after the other. A client starts each
 * response, disconnects, and reads it to the end, from the same process or from the next one. CPU includes all processes
 * of a host and Postgres, which does not wait for its disk. All hosts take turns in each round. Figures are medians of
 * the rounds, and ratios within a round.
 *
 *     pnpm build && node bench/hosts.ts [paced|short]
 *
 * `BENCH_ROUNDS=1` with one kind tries it out in about two minutes.
 */

/** Numbers of responses, for each process of a host. */
const PACED = 40;
const SHORT = 160;
const CLIENTS = 32;

interface Host {
  /** Addresses of the processes. */
  readonly processes: readonly string[];
  /** CPU time so far, in milliseconds. */
  cpuMs(): { readonly own: number; readonly postgres: number };
  queries(): Promise<number>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 512 });
const folder = mkdtempSync(join(tmpdir(), "sluice-hosts-"));
const gateway = await startGateway();
const postgres = await startPostgres();
const closings: (() => unknown)[] = [];
let users = 0;

const workerd = await startWorker({
  name: "hosts",
  source: writeStoredWorker("limits: { maxStreamsPerUser: 1000 }"),
  gateway: gateway.address,
  objects: { SLUICE: "Sluice" },
});
closings.push(() => workerd.close());
const inWorkerd: Host = {
  processes: [workerd.address.href.replace(/\/$/, "")],
  cpuMs: () => ({ own: workerd.cpuMs(), postgres: 0 }),
  queries: async () => 0,
};
const file = await startProcesses(1, () => join(folder, "objects.db"));
const one = await startProcesses(1, () => `${postgres.url} one`);
const two = await startProcesses(2, () => `${postgres.url} two`);
const four = await startProcesses(4, () => `${postgres.url} four`);

const subjects = {
  workerd: { host: inWorkerd, away: 0 },
  "Node, SQLite": { host: file, away: 0 },
  "Postgres, 1 process": { host: one, away: 0 },
  "Postgres, 2 processes": { host: two, away: 0 },
  "Postgres, 4 processes": { host: four, away: 0 },
  "2 processes, read by the other": { host: two, away: 1 },
  "4 processes, read by the next": { host: four, away: 1 },
} as const;
type Name = keyof typeof subjects;
const names = Object.keys(subjects) as Name[];

const [only] = process.argv.slice(2);
for (const kind of ["paced", "short"] as const) if (!only || only === kind) await measure(kind);
for (const close of closings) await close();
await postgres.close();
gateway.child.disconnect();
agent.destroy();
rmSync(folder, { recursive: true });
process.exit();

async function measure(kind: "paced" | "short"): Promise<void> {
  const countProcesses = ({ processes }: Host) => (kind === "paced" ? PACED : SHORT) * processes.length;
  const empty = (): Record<"postgres" | "queries" | "rate", number[]> => ({
    postgres: [],
    queries: [],
    rate: [],
  });
  const measured = new Map(names.map((name) => [name, empty()]));
  const of = (name: Name) => measured.get(name) ?? empty();
  const cpu = await inTurns(
    names,
    async (name) => {
      const { host, away } = subjects[name];
      const count = countProcesses(host);
      const [before, queriesBefore, startedAt] = [host.cpuMs(), await host.queries(), performance.now()];
      await runAll(count, kind === "paced" ? count : CLIENTS, (nth) => readAway(host, nth, away, kind));
      const seconds = (performance.now() - startedAt) / 1000;
      // the last responses settle in the background
      await new Promise((resolve) => setTimeout(resolve, 500));
      const after = host.cpuMs();
      of(name).postgres.push((after.postgres - before.postgres) / count);
      of(name).queries.push(((await host.queries()) - queriesBefore) / count);
      of(name).rate.push(count / seconds);
      return (after.own + after.postgres - before.own - before.postgres) / count;
    },
    { rounds: 5, warmUps: 1, budgetMs: 600_000 },
  );
  const createColumn = (formatCell: (name: Name) => Figure | string) =>
    Object.fromEntries(names.map((name) => [name, formatCell(name)]));
  const middle = (values: readonly number[]) =>
    short([...values].sort((a, b) => a - b)[values.length >> 1] ?? 0);
  console.log(
    formatTable(kind === "paced" ? "100 events, one each 50 ms" : "20 events at once", {
      "CPU ÷ workerd": createColumn((name) => toRatio(cpu[name], cpu.workerd)),
      "CPU ÷ one process": createColumn((name) => toRatio(cpu[name], cpu["Postgres, 1 process"])),
      "ms of CPU": createColumn((name) => middle(cpu[name])),
      "of them Postgres": createColumn((name) => middle(of(name).postgres)),
      queries: createColumn((name) => middle(of(name).queries)),
      "responses a second": createColumn((name) => middle(of(name).rate)),
    }),
  );
}

async function startProcesses(count: number, findTarget: () => string): Promise<Host> {
  const children = await Promise.all(
    Array.from({ length: count }, async () => {
      const child = fork(new URL("./host-process.ts", import.meta.url), [
        gateway.address,
        ...findTarget().split(" "),
      ]);
      // without this, the bench would wait forever for a message of the process
      const onExit = (code: number | null) => {
        throw new Error(`a process of a host exited with code ${code}`);
      };
      child.once("exit", onExit);
      closings.push(() => child.off("exit", onExit).disconnect());
      const [port] = (await once(child, "message")) as [number];
      return { child, port };
    }),
  );
  const ownCPU = () => children.reduce((sum, { child }) => sum + readCPU(Number(child.pid)).own, 0);
  const isShared = findTarget().startsWith("postgres:");
  return {
    processes: children.map(({ port }) => `http://127.0.0.1:${port}`),
    cpuMs: () => ({ own: ownCPU(), postgres: isShared ? postgresCPU() : 0 }),
    async queries() {
      const counts = children.map(async ({ child }) => {
        const received = once(child, "message");
        child.send("queries");
        return Number((await received)[0]);
      });
      return (await Promise.all(counts)).reduce((sum, some) => sum + some, 0);
    },
  };
}

/** CPU of a process and of its children that have ended, in milliseconds; the system counts in hundredths of a second. */
function readCPU(pid: number): { readonly own: number; readonly ended: number; readonly parent: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  const ms = (first: number) => (Number(stat[first]) + Number(stat[first + 1])) * 10;
  return { own: ms(11), ended: ms(13), parent: Number(stat[1]) };
}

function postgresCPU(): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const main = Number(
    pids.find((pid) => {
      const words = readText(`/proc/${pid}/cmdline`).split("\0");
      return words[0]?.endsWith("postgres") && words.includes(String(postgres.port));
    }),
  );
  const known = pids.flatMap((pid) => {
    try {
      const cpu = readCPU(Number(pid));
      return cpu.parent === main || Number(pid) === main ? cpu.own : [];
    } catch {
      return []; // it has ended
    }
  });
  return known.reduce((sum, ms) => sum + ms, 0) + readCPU(main).ended;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Runs work `count` times, by `clients` at once. */
async function runAll(count: number, clients: number, work: (nth: number) => Promise<void>): Promise<void> {
  let nth = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (nth < count) await work(nth++);
    }),
  );
}

/** Begins a response, disconnects, and reads it from its start: at the same process, or `away` processes further. */
async function readAway({ processes }: Host, nth: number, away: number, prompt: string): Promise<void> {
  const [begunAt = "", readAt = ""] = [0, away].map((more) => processes[(nth + more) % processes.length]);
  const user = `user-${++users}`;
  const body = JSON.stringify({
    model: "delta-5.3",
    stream: true,
    messages: [{ role: "user", content: prompt }],
  });
  const begun = await send(`${begunAt}/v1/chat/completions`, user, body);
  begun.on("error", () => {}).destroy();
  if (begun.statusCode !== 200) throw new Error(`${begun.statusCode}: the response was not begun`);
  const response = await send(`${readAt}/v1/chat/streams/${begun.headers["x-stream-id"]}`, user);
  let end = "";
  for await (const piece of response) end = String(piece).slice(-300);
  if (!/\[DONE\]|"finish_reason":"stop"/.test(end))
    throw new Error(`${response.statusCode}: the response is not whole: ${end}`);
}

function send(url: string, user: string, body?: string): Promise<IncomingMessage> {
  const headers = { authorization: user, ...(body && { "content-type": "application/json" }) };
  return new Promise((resolve, reject) => {
    request(url, { method: body ? "POST" : "GET", headers, agent })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
}
