import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { startPostgres } from "../packages/durable/test/support/postgres-server.ts";
import { type Attack, attacks, chat, drain, sleep } from "./attacker.ts";
import { startWorker } from "./proxy-sides.ts";
import { startGateway } from "./start-gateway.ts";
import { writeStoredWorker } from "./stored-worker.ts";
import { formatTable } from "./topic.ts";

/*
 * Measures how long another user waits while one user attacks a proxy with stored and metered responses, and the memory
 * of the proxy. The other user sends short requests, in turns to the attacked proxy and to a second proxy of the same
 * kind, which nobody attacks. Other work on the machine slows both, but inflates the ratio of the medians, because the
 * attacked process then gets too little CPU: read it beside the cores that the attack uses. The attacker has 32
 * connections, and a rate limit of five requests a second; `--unlimited` drops the limit.
 *
 *     pnpm build && node bench/attack.ts [workerd|node|postgres] [--minutes 3] [--unlimited]
 */

const PAUSE_MS = 100;

/** A proxy, and the CPU time and memory of its process. */
interface Proxy {
  readonly address: string;
  cpuMs(): number;
  rssMB(): number;
  close(): unknown;
}

await measureHosts();

async function measureHosts(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { minutes: { type: "string", default: "3" }, unlimited: { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const rate = values.unlimited ? 1e9 : 5;
  const windowMs = (Number(values.minutes) * 60_000) / Object.keys(attacks).length;
  const folder = mkdtempSync(join(tmpdir(), "sluice-attack-"));
  const gateway = await startGateway();
  const postgres = await startPostgres();
  const hosts: Readonly<Record<string, (nth: number) => Promise<Proxy>>> = {
    workerd: (nth) => startInWorkerd(`attack-${nth}`, gateway.address, rate),
    node: (nth) => startProcess([gateway.address, join(folder, `${nth}.db`), "attack", `${rate}`]),
    postgres: (nth) => startProcess([gateway.address, postgres.url, `attack_${nth}`, `${rate}`]),
  };
  for (const [name, start] of Object.entries(hosts)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const [attacked, other] = [await start(1), await start(2)];
    await measure(name, [attacked, other], windowMs);
    for (const proxy of [attacked, other]) await proxy.close();
  }
  await postgres.close();
  gateway.child.disconnect();
  rmSync(folder, { recursive: true });
  process.exit();
}

async function measure(title: string, proxies: readonly [Proxy, Proxy], windowMs: number): Promise<void> {
  const rows: Record<string, Record<string, string>> = {};
  for (const name of Object.keys(attacks)) {
    const workerData: Attack = { proxy: proxies[0].address, name };
    const worker = new Worker(new URL("./attacker.ts", import.meta.url), { workerData });
    await once(worker, "message");
    const before = proxies.map((proxy) => proxy.cpuMs()) as [number, number];
    const { times, failed, peakMB } = await measureLatency(proxies, windowMs);
    const [busy, calm] = proxies.map((proxy, nth) => proxy.cpuMs() - (before[nth] ?? 0)) as [number, number];
    worker.postMessage("end");
    const [sent] = (await once(worker, "message")) as [number];
    await worker.terminate();
    const [attacked, other] = times.map((all) => pick(all, 0.5)) as [number, number];
    const [slow, usual] = times.map((all) => pick(all, 0.95)) as [number, number];
    rows[name] = {
      "ms, attacked": attacked.toFixed(1),
      "ms, not attacked": other.toFixed(1),
      ratio: (attacked / other).toFixed(2),
      "ratio of the 95th percentiles": (slow / usual).toFixed(2),
      "failed requests": failed.join(" and "),
      "cores that the attack uses": ((busy - calm) / windowMs).toFixed(2),
      "requests of the attacker": `${sent}`,
      "MB of memory, at most": `${peakMB}`,
    };
  }
  const [first = {}] = Object.values(rows);
  const createColumn = (column: string) =>
    Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, row[column] ?? ""]));
  console.log(
    formatTable(
      title,
      Object.fromEntries(Object.keys(first).map((column) => [column, createColumn(column)])),
    ),
  );
}

/** Sends requests of the other user to both proxies in turns. Returns the milliseconds of each whole response. */
async function measureLatency(proxies: readonly [Proxy, Proxy], ms: number) {
  const times: readonly [number[], number[]] = [[], []];
  const failed: [number, number] = [0, 0];
  let peakMB = 0;
  const sampling = setInterval(() => {
    peakMB = Math.max(peakMB, Math.round(proxies[0].rssMB()));
  }, 100);
  for (const until = performance.now() + ms; performance.now() < until; ) {
    for (const nth of [0, 1] as const) {
      const startedAt = performance.now();
      const response = await chat(proxies[nth].address, "other", "short");
      const isWhole = /\[DONE\]|"finish_reason":"stop"/.test(await drain(response));
      if (isWhole) times[nth].push(performance.now() - startedAt);
      else failed[nth] += 1;
      await sleep(PAUSE_MS);
    }
  }
  clearInterval(sampling);
  return { times, failed, peakMB };
}

function pick(times: readonly number[], part: number): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * part)] ?? Number.NaN;
}

async function startProcess(args: readonly string[]): Promise<Proxy> {
  const child = fork(new URL("./host-process.ts", import.meta.url), args);
  const [port] = (await once(child, "message")) as [number];
  const readStat = () => readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return {
    address: `http://127.0.0.1:${port}`,
    // the system counts in hundredths of a second, and in pages of 4 KiB
    cpuMs: () => (Number(readStat()[11]) + Number(readStat()[12])) * 10,
    rssMB: () => Number(readStat()[21]) / 256,
    close: () => child.disconnect(),
  };
}

async function startInWorkerd(name: string, gateway: string, rate: number): Promise<Proxy> {
  const rateLimit = `rateLimit: ({ user: { id } }) => {
    const now = Math.floor(Date.now() / 1000);
    if (second !== now) counts.clear();
    second = now;
    counts.set(id, (counts.get(id) ?? 0) + 1);
    return counts.get(id) > ${rate} ? { retryAfterMs: 1000 } : undefined;
  }`;
  const source = writeStoredWorker(rateLimit, "let second = 0; const counts = new Map();");
  const side = await startWorker({ name, source, gateway, objects: { SLUICE: "Sluice" } });
  return { ...side, address: side.address.href.replace(/\/$/, "") };
}
