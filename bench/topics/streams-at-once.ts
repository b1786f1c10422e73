import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { short, toFigure } from "../harness.ts";
import { peers } from "../peers/streams.js";
import { startGateway } from "../start-gateway.ts";
import { own } from "../subjects.ts";
import { formatTable, put, type Report } from "../topic.ts";

export const title = "Streams at once";

const RUNS = 3;

export async function measure(): Promise<Report> {
  const { address, child } = await startGateway();
  const columns: Record<string, Record<string, string>> = {};
  for (const count of [100, 1000])
    for (const name of [...Object.keys(own), ...Object.keys(peers)]) {
      const values: number[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const held = await heldBy(name, `${address}/held`, count);
        if (held === null) break;
        values.push(held);
      }
      if (values.length === 0) continue;
      put(
        columns,
        `kB for each of ${count.toLocaleString("en")} streams`,
        name,
        short(toFigure(values).median),
      );
    }
  child.disconnect();
  return {
    markdown: `One process reads many responses at once over HTTP. The figures are the heap in use per response, after 40 frames of each and a garbage collection. A dash means that not all responses began within 60 s. The floor is the heap of Node's own \`fetch\`, connection and reader.\n\n${formatTable("Node", columns)}`,
  };
}

async function heldBy(name: string, address: string, count: number): Promise<number | null> {
  const program = fileURLToPath(new URL("../streams-at-once.ts", import.meta.url));
  const args = ["--expose-gc", program, name, address, `${count}`];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout).held;
}
