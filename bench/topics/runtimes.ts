import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMiniflare } from "../../packages/worker-proxy/test/support/miniflare.ts";
import { type Figure, inTurns, measureMs, toRatio } from "../harness.ts";
import { buildProgram } from "../page.ts";
import { type Size, sizes } from "../stream-ratios.ts";
import { formatTable, put, type Report } from "../topic.ts";

export const title = "From bytes to pieces, in other runtimes";

export async function measure(): Promise<Report> {
  const program = await buildProgram("pages/runtime.ts");
  const folder = await mkdtemp(join(tmpdir(), "bench-"));
  const file = join(folder, "program.mjs");
  await writeFile(file, program);
  const commands = { Node: [process.execPath], Deno: [bin("deno"), "run", "-A"], Bun: [bin("bun")] };
  const rows: Record<string, Record<string, Figure>> = {};
  for (const [name, [command = "", ...flags]] of Object.entries(commands)) {
    const { stdout } = await promisify(execFile)(command, [...flags, file]);
    for (const [size, { Sluice }] of Object.entries(JSON.parse(stdout) as typeof rows))
      put(rows, size, name, Sluice as Figure);
  }
  await rm(folder, { recursive: true });
  for (const [size, ratio] of Object.entries(await inWorkerd(program))) put(rows, size, "workerd", ratio);
  return {
    markdown: `Time of \`streamChat\`, divided by the time of the floor, a hand-written loop, in the same runtime. The response is in memory, and arrives in reads of one size.\n\n${formatTable("runtime, size of a read", rows)}`,
  };
}

async function inWorkerd(program: string): Promise<Record<string, Figure>> {
  const miniflare = startMiniflare({
    workers: [
      {
        name: "bench",
        modules: [{ type: "ESModule", path: "worker.js", contents: program }],
        compatibilityDate: "2026-10-01",
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
    ],
  });
  await miniflare.ready;
  const address = await miniflare.unsafeGetDirectURL("bench");
  const ratios: Record<string, Figure> = {};
  for (const size of Object.keys(sizes) as Size[]) {
    const { floor, Sluice } = await inTurns(["floor", "Sluice"], (subject) =>
      measureMs(async () => {
        const body = JSON.stringify({ subject, size });
        const response = await fetch(address, { method: "POST", body });
        if ((await response.text()) !== "done") throw new Error("workerd has failed");
      }),
    );
    ratios[size] = toRatio(Sluice, floor);
  }
  await miniflare.dispose();
  return ratios;
}

function bin(name: string): string {
  return fileURLToPath(new URL(`../../packages/worker-proxy/node_modules/.bin/${name}`, import.meta.url));
}
