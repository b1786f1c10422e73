import { spawn } from "node:child_process";
import { once as onceEvent } from "node:events";
import { statSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { idempotency } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createEmulator, type Emulator } from "@sluice/emulator";
import { createProxy, images as imagesRoutes } from "@sluice/worker-proxy";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRandom, pickBetween } from "../simulation/random.ts";

/*
 * A script creates images through a proxy, over a network that loses responses, and is killed again and again. The
 * emulator's list of requests has the truth: each request that got an image is a bill.
 */

const SEED = 20_261_126;
/** Faults of the network per request: the batch gives up after four. */
const MAX_FAULTS = 3;
const program = fileURLToPath(new URL("../support/batch-program.ts", import.meta.url));
let close: () => Promise<unknown> = async () => {};
beforeEach(() => {
  // the server reports each response that the network loses
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
  return close();
});

test("500 requests are 500 images and 500 bills behind `idempotency()`, though the script is killed three times", async () => {
  const { emulator, url, folder } = await openGateway({ isIdempotent: true });
  await runUntilKilledThrice(url, folder, 500);
  expect(await runToEnd(url, folder, 500)).toMatchObject({
    status: "done",
    done: 500,
    failed: 0,
    unconfirmedCount: 0,
  });
  expect(listBills(emulator)).toHaveLength(500);
  expect(new Set(listBills(emulator)).size).toBe(500);
  expect((await listImages(folder)).size).toBe(500);
});

test("no image is billed twice without `idempotency()`, and each unconfirmed request is listed", async () => {
  const { emulator, url, folder } = await openGateway({ isIdempotent: false });
  await runUntilKilledThrice(url, folder, 100);
  const state = await runToEnd(url, folder, 100);
  expect(state).toMatchObject({ status: "done", waiting: 0, running: 0, failed: 0 });
  const bills = listBills(emulator);
  expect(new Set(bills).size).toBe(bills.length);
  expect((await listImages(folder)).size).toBe(state.done);
  // each request has its image, or is listed as unconfirmed
  expect(state.done + state.unconfirmed.length).toBe(100);
  expect(state.unconfirmed.length).toBeGreaterThan(0);
  for (const { message } of state.unconfirmed) expect(message).toBeTruthy();
});

test("of three processes at once one makes the images, and another takes over when it is killed: each image is made once", async () => {
  const { emulator, url, folder } = await openGateway({ isIdempotent: true });
  const first = runUntilKilled(url, folder, 100, 40_000 /* bytes of the ledger: less than half of it */);
  const second = runToEnd(url, folder, 100);
  const third = runToEnd(url, folder, 100);
  await first;
  for (const state of await Promise.all([second, third]))
    expect(state).toMatchObject({ status: "done", done: 100 });
  expect([listBills(emulator).length, (await listImages(folder)).size]).toEqual([100, 100]);
});

interface Printed {
  readonly done: number;
  readonly unconfirmed: readonly { readonly id: string; readonly message: string }[];
}

/** Starts a gateway, a proxy to it, and a network to the proxy that loses, cuts and refuses some requests. */
async function openGateway({ isIdempotent }: { readonly isIdempotent: boolean }) {
  const emulator = createEmulator({ speed: Infinity, maxRequests: 5000 });
  const random = createRandom(SEED, "network");
  const faultsByKey = new Map<string, number>();
  const clientOptions = {
    baseURL: "https://gateway.example",
    apiKey: () => "sk-0123456789",
    fetch: toGateway,
  };
  const proxy = createProxy({
    ...clientOptions,
    authenticate: () => ({ id: "user" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: [],
    models: ["gamma-image-5-0-260128"],
    routes: [imagesRoutes],
    host: nodeHost({ file: ":memory:" }),
    plugins: isIdempotent ? [idempotency()] : [],
  });
  const serve = toNodeHandler((request) => proxy.fetch(request));
  const server: Server = createServer((incoming, outgoing) => {
    const fault = incoming.method === "POST" ? pickFault(incoming.headers["idempotency-key"]) : undefined;
    if (fault === undefined) return serve(incoming, outgoing);
    if (fault < 3) return void outgoing.writeHead(500).end("a load balancer");
    if (fault < 6) return void outgoing.writeHead(429, { "retry-after": "0" }).end("{}");
    if (fault < 10) loseResponse(outgoing);
    else if (fault < 13) cutResponse(outgoing);
    serve(incoming, outgoing);
  }).listen(0);
  await onceEvent(server, "listening");
  const folder = await mkdtemp(join(tmpdir(), "sluice-batch-"));
  close = async () => {
    server.close().closeAllConnections();
    await rm(folder, { recursive: true });
  };
  return { emulator, folder, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };

  /** Picks a number below 100; undefined after `MAX_FAULTS` faults of a request. */
  function pickFault(key: string | string[] | undefined): number | undefined {
    const faults = faultsByKey.get(String(key)) ?? 0;
    if (faults === MAX_FAULTS) return undefined;
    const fault = pickBetween(random, 0, 99);
    if (fault < 13) faultsByKey.set(String(key), faults + 1);
    return fault;
  }

  /** A gateway that is busy now and then. */
  async function toGateway(request: Request): Promise<Response> {
    if (pickBetween(random, 0, 99) >= 4) return emulator.fetch(request);
    const error = { message: "too many requests", code: "busy" };
    return Response.json({ error }, { status: 429, headers: { "retry-after": "0" } });
  }
}

/** Closes the connection instead of sending the response. */
function loseResponse(outgoing: ServerResponse): void {
  outgoing.writeHead = (() => {
    outgoing.destroy();
    return outgoing;
  }) as typeof outgoing.writeHead;
}

/** Closes the connection in the middle of the response. */
function cutResponse(outgoing: ServerResponse): void {
  const write = outgoing.write.bind(outgoing) as (chunk: Uint8Array) => boolean;
  outgoing.write = ((chunk: Uint8Array) => {
    write(chunk.subarray(0, chunk.length / 2));
    setImmediate(() => outgoing.destroy());
    return true;
  }) as typeof outgoing.write;
}

function start(url: string, folder: string, count: number) {
  return spawn(process.execPath, [program, url, folder, String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Starts and kills the script three times, at the same sizes of the ledger in each run of the test. */
async function runUntilKilledThrice(url: string, folder: string, count: number): Promise<void> {
  const random = createRandom(SEED, "kills");
  // bytes of the ledger per request, well below those of a finished one: a busy machine checks the size late
  for (const bytes of [100, 300, 500])
    await runUntilKilled(url, folder, count, count * (bytes + pickBetween(random, 0, 200)));
}

/** Starts the script, and kills it when its ledger has `bytes` bytes. */
async function runUntilKilled(url: string, folder: string, count: number, bytes: number): Promise<void> {
  const script = start(url, folder, count);
  const ended = onceEvent(script, "exit");
  const checking = setInterval(() => {
    const { size } = statSync(join(folder, "ledger.jsonl"), { throwIfNoEntry: false }) ?? { size: 0 };
    if (size >= bytes) script.kill("SIGKILL");
  }, 1);
  const [, signal] = await ended;
  clearInterval(checking);
  expect(signal).toBe("SIGKILL");
}

async function runToEnd(url: string, folder: string, count: number): Promise<Printed> {
  const script = start(url, folder, count);
  let printed = "";
  script.stdout.setEncoding("utf8").on("data", (text) => {
    printed += text;
  });
  await onceEvent(script, "close");
  return JSON.parse(printed);
}

/** Prompts of the images that the gateway has made. */
function listBills({ requests }: Emulator): string[] {
  return requests
    .filter(({ path, status }) => path === "/v1/images/generations" && status === 200)
    .map(({ body }) => (body as { prompt: string }).prompt);
}

/** Addresses of the images that the script has saved. */
async function listImages(folder: string): Promise<Set<string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  const results = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))),
  );
  return new Set(results.map(({ images }) => images[0].url));
}
