import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@sluice/core";
import { listReceipts } from "@sluice/stores";
import { fileStorage } from "@sluice/stores/node";
import { expect, onTestFinished, test } from "vitest";
import { createRandom, pickBetween } from "../simulation/random.ts";

/*
 * A script generates 1,000 images, and is killed 20 times while the gateway receives a request. The gateway bills each
 * request as soon as it has received it, even if it then responds with an error or not at all.
 */

const SEED = 20_261_130;
const KILLS = 20;
const program = fileURLToPath(new URL("../support/receipts-program.ts", import.meta.url));

test("each of 1,000 bills has its receipt, though the script is killed 20 times", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-receipts-"));
  const file = join(folder, "receipts.jsonl");
  const random = createRandom(SEED, "network");
  const bills = new Set<string>();
  let script: ChildProcess | undefined;
  let nextKill = Number.POSITIVE_INFINITY;

  const server = createServer(async (incoming, outgoing) => {
    incoming.resume();
    await once(incoming, "end");
    // after a failure, the client sends a GET to check if a server responds
    if (incoming.method !== "POST") return void outgoing.end();
    const key = String(incoming.headers["idempotency-key"]);
    const fault = pickBetween(random, 0, 99);
    if (fault < 5) return void outgoing.writeHead(400).end('{"error":{"message":"no"}}');
    bills.add(key);
    if (bills.size >= nextKill) script?.kill("SIGKILL");
    if (fault < 10) return void outgoing.destroy();
    if (fault < 15) return void outgoing.writeHead(504).end("a load balancer");
    outgoing.setHeader("content-type", "application/json");
    outgoing.end(
      JSON.stringify({ data: [{ url: "https://files.test/1.png" }], usage: { generated_images: 1 } }),
    );
  }).listen(0);
  await once(server, "listening");
  onTestFinished(async () => {
    server.close().closeAllConnections();
    await rm(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const perRun = Math.ceil(1_000 / (KILLS + 1));
  for (let run = 0; run <= KILLS; run++) {
    nextKill = run < KILLS ? bills.size + pickBetween(random, 30, perRun - 10) : Number.POSITIVE_INFINITY;
    const remaining = run < KILLS ? 1_000 : 1_000 - bills.size;
    script = spawn(process.execPath, [program, url, file, String(remaining)], { stdio: "inherit" });
    const [, signal] = await once(script, "exit");
    expect(signal).toBe(run < KILLS ? "SIGKILL" : null);
  }

  const receipts = await listReceipts(createClient({ baseURL: url }), { storage: fileStorage(file) });
  const keys = (wanted: readonly string[]) =>
    receipts.filter(({ billing }) => wanted.includes(billing)).map(({ idempotencyKey }) => idempotencyKey);
  expect([...bills].filter((key) => !keys(["yes", "maybe"]).includes(key))).toEqual([]);
  expect(keys(["yes"]).filter((key) => !bills.has(String(key)))).toEqual([]);
  expect(keys(["refused", "none"]).filter((key) => bills.has(String(key)))).toEqual([]);
});
