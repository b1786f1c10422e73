import { connect } from "node:net";
import { type AttackedSettings, bundleAttacked } from "./bundle.js";
import { expectNoKey, KEY, read } from "./key.js";
import { startRawGateway } from "./raw-gateway.js";
import { startWorkerd } from "./workerd-process.js";

interface Attacked extends Omit<AttackedSettings, "timeout"> {
  readonly key?: string;
  /** The largest heap of the isolate, in megabytes; Cloudflare's has 128. */
  readonly heapMB?: number;
  /** `timeout.chunkMs` of the proxy. */
  readonly chunkMs?: number;
  /** The address of another gateway. @default a gateway that this function starts */
  readonly gateway?: string;
}

/** Starts the proxy in its own workerd, for attacks over sockets. Its gateway sends the bytes that the test writes. */
export async function startAttacked(attacked: Attacked = {}) {
  const { options = {}, plan = {}, key = KEY, heapMB, chunkMs, gateway } = attacked;
  const upstream = await startRawGateway();
  const worker = await startWorkerd({
    code: await bundleAttacked({ options, plan, timeout: { chunkMs } }),
    texts: { UPSTREAM: gateway ?? upstream.url, GATEWAY_API_KEY: key },
    objects: { SLUICE: "Sluice" },
    heapMB,
  });
  return {
    ...worker,
    upstream,
    send,
    /** Sends a request, reads the response to its end, and expects no part of the key in it. */
    call: async (...request: Parameters<typeof send>) => read(await send(...request)),
    /** Returns what a user has spent, once nothing is reserved any more; the option `routes` has to have `budget`. */
    async spent(user: string, by = "user"): Promise<number> {
      for (;;) {
        const { text } = await read(await send(user, undefined, { path: "/v1/budget" }));
        const { budgets } = JSON.parse(text) as {
          budgets: { by: string; spent: number; reserved: number }[];
        };
        const budget = budgets.find((one) => one.by === by);
        if (budget?.reserved === 0) return budget.spent;
      }
    },
    raw: (bytes: string | Buffer) => sendBytes(worker.port, bytes),
    async close() {
      await worker.close();
      upstream.close();
      expectNoKey(worker.logs.join("\n"));
    },
  };

  /** Sends a request as this user. @param path the path; a chat by default */
  function send(user: string, body?: unknown, { path = CHATS, headers = {}, ...init }: Sent = {}) {
    return fetch(`http://127.0.0.1:${worker.port}${path}`, {
      method: body === undefined ? "GET" : "POST",
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...init,
      headers: { authorization: `Bearer ${user}`, "content-type": "application/json", ...headers },
    });
  }
}

interface Sent {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly method?: string;
}

export const CHATS = "/v1/chat/completions";
export const VIDEOS = "/v1/video/generations";
export const IMAGES = "/v1/images/generations";
export const chat = { model: "delta-5.3", messages: [{ role: "user", content: "hi" }] };
export const stream = { ...chat, stream: true };

/** How the proxy handles a stream: unread, counted for a budget, or stored for its readers. */
export const streamPlans: readonly [string, object][] = [
  ["passed on unread", {}],
  ["counted", { budget: { user: 1_000_000_000 } }],
  ["that is stored", { resumable: true }],
];

/** Writes bytes to a socket, and reads the response until the server closes it. */
function sendBytes(port: number, bytes: string | Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    let text = "";
    socket.setEncoding("latin1").on("data", (piece) => {
      text += piece;
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      expectNoKey(text);
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0), text });
    });
  });
}
