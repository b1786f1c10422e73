import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { short } from "../harness.ts";
import { peers } from "../peers/streams.js";
import { startGateway } from "../start-gateway.ts";
import { own } from "../subjects.ts";
import { formatTable, put, type Report } from "../topic.ts";

export const title = "Memory";

export async function measure(): Promise<Report> {
  const { address, child } = await startGateway();
  const names = [...Object.keys(own), ...Object.keys(peers)];
  const columns: Record<string, Record<string, string>> = {};
  // `/4-KB-a-write` of the gateway has 20,000 frames, in the same writes of 4 KB as `/100,000-frames`
  for (const [frames, path] of [
    ["20,000", "4-KB-a-write"],
    ["100,000", "100,000-frames"],
  ] as const)
    for (const name of names) {
      const { peak } = await measureHeap(name, `${address}/${path}`);
      put(columns, `MB while ${frames} frames are read`, name, short(peak));
    }
  child.disconnect();
  return {
    markdown: `Largest heap while a client reads one response, less its heap before the request. The heap is measured after every 2,000 pieces of text, right after garbage collection. Each client has a separate process. The floor, a hand-written loop, stores nothing. The text of 100,000 frames is 1.1 MB.\n\n${formatTable("Node", columns)}`,
  };
}

async function measureHeap(name: string, address: string): Promise<{ peak: number }> {
  const program = fileURLToPath(new URL("../heap.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program, name, address]);
  return JSON.parse(stdout);
}
