import { Agent, type IncomingMessage, request } from "node:http";
import { isMainThread, parentPort, workerData } from "node:worker_threads";

/*
 * The requests of attack.ts. As a thread it runs one attack, until it receives a message.
 */

/** Connections of the attacker, and the pause of each before it repeats its attack, in milliseconds. */
const CLIENTS = 32;
const PAUSE_MS = 50;
const agent = new Agent({ keepAlive: true });

/** What the thread receives. */
export interface Attack {
  readonly proxy: string;
  readonly name: string;
}

export const attacks: Readonly<Record<string, (proxy: string) => Promise<unknown>>> = {
  "streams, left open": (proxy) => chat(proxy, "attacker", "paced").then(leave),
  "new keys": (proxy) => chat(proxy, "attacker", "short", crypto.randomUUID()).then(drain),
  "readers that read nothing": (proxy) => chat(proxy, "attacker", "paced").then(hold),
  async "readers of one stream"(proxy) {
    const { headers } = leave(await chat(proxy, "attacker", "held", "held"));
    await send(`${proxy}/v1/chat/streams/${headers["x-stream-id"]}`, "attacker").then(hold);
  },
  "largest bodies": (proxy) => send(`${proxy}/v1/chat/completions`, "attacker", large).then(drain),
};

/** A body of 20 MB, encoded once. */
const large = Buffer.from(createBody("x".repeat(20_000_000)));

if (!isMainThread) await attack(workerData as Attack);

async function attack({ proxy, name }: Attack): Promise<void> {
  let isOver = false;
  let sent = 0;
  parentPort?.once("message", () => {
    isOver = true;
  });
  parentPort?.postMessage("ready");
  const run = async () => {
    for (; !isOver; sent += 1) {
      await attacks[name]?.(proxy).catch(() => {});
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, run));
  parentPort?.postMessage(sent);
}

/** Sends a chat. The gateway's response depends on the content. */
export function chat(proxy: string, user: string, content: string, key?: string): Promise<IncomingMessage> {
  return send(`${proxy}/v1/chat/completions`, user, createBody(content), key);
}

function createBody(content: string): string {
  const messages = [{ role: "user", content }];
  return JSON.stringify({ model: "delta-5.3", stream: true, messages });
}

function send(url: string, user: string, body?: string | Buffer, key?: string): Promise<IncomingMessage> {
  const headers = {
    authorization: user,
    ...(body && { "content-type": "application/json" }),
    ...(key && { "idempotency-key": key }),
  };
  return new Promise((resolve, reject) => {
    request(url, { method: body ? "POST" : "GET", headers, agent })
      .on("response", resolve)
      .on("error", reject)
      .end(body);
  });
}

/** Reads a response. Returns its last 300 characters. */
export async function drain(response: IncomingMessage): Promise<string> {
  let end = "";
  for await (const piece of response) end = (end + String(piece)).slice(-300);
  return end;
}

/** Disconnects. */
function leave(response: IncomingMessage): IncomingMessage {
  return response.on("error", () => {}).destroy();
}

/** Reads nothing for a while, and disconnects. */
async function hold(response: IncomingMessage): Promise<void> {
  if (response.statusCode === 200) await sleep(5_000);
  leave(response);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
