import { idempotency, resumableStreams } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import {
  chat as chatRoutes,
  createProxy,
  images,
  type JobEvent,
  type ProxyEvent,
  type ProxyOptions,
  type ProxyPlugin,
  type RequestEvent,
  readStreams,
  videos,
} from "@sluice/worker-proxy";
import { type BoundHost, definePlugin, operation, reading } from "@sluice/worker-proxy/plugin";
import { expect, onTestFinished, vi } from "vitest";
import { chat, createRequest } from "../../../worker-proxy/test/support/in-process.js";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import type { ClosableHost } from "../../src/host/process-host.js";
import { createUserKey } from "../../src/host/user-key.js";
import { createAttempts } from "./attempts.js";

type Respond = (request: Request) => Response | Promise<Response>;
const EVENTS = { "content-type": "text/event-stream", "x-request-id": "gateway-1" };

/** Opens a gateway that the test controls. */
export function openGateway(respond: Respond = () => Response.json({ id: "1" })) {
  const requests: Request[] = [];
  const closing = new AbortController();
  let next = respond;
  return {
    requests,
    /** Aborts when the test ends. */
    closing: closing.signal,
    /** Ends all responses. */
    close: () => closing.abort(new Error("the gateway has closed")),
    responds(changed: Respond) {
      next = changed;
    },
    fetch: async (request: Request) => {
      requests.push(request.clone() as Request);
      return next(request);
    },
    /** Responds with a whole stream. */
    streams: (text: string) => {
      next = () => new Response(text, { headers: EVENTS });
    },
    /** Responds with a stream that the test sends. */
    streamsLive() {
      let controller!: ReadableStreamDefaultController<Uint8Array>;
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (opened) => {
            controller = opened;
          },
          pull() {
            pulls += 1;
          },
        },
        { highWaterMark: 0 },
      );
      closing.signal.addEventListener("abort", () => {
        if (!hasLeft) controller.error(closing.signal.reason);
      });
      let hasLeft = false;
      next = ({ signal }) => {
        signal.addEventListener("abort", () => {
          hasLeft = true;
        });
        return new Response(body, { headers: EVENTS });
      };
      return {
        send: (text: string) => controller.enqueue(new TextEncoder().encode(text)),
        end: () => controller.close(),
        cut: () => controller.error(new Error("connection lost")),
        get hasLeft() {
          return hasLeft;
        },
        get pulls() {
          return pulls;
        },
      };
    },
    /** Does not respond until the request is aborted. */
    hangs() {
      next = ({ signal }) =>
        new Promise((_, reject) => {
          for (const end of [signal, closing.signal]) end.addEventListener("abort", () => reject(end.reason));
        });
    },
  };
}

/** A meter that reserves 100 for each request, and can settle by tickets. */
export function openMeter() {
  const reserved = new Map<string, number>();
  const spent: number[] = [];
  const meter = {
    reserved,
    spent,
    /** True while settling fails. */
    fails: false,
    /** Called after the amount is reserved, before `reserve` returns. */
    onReserve: async () => {},
    plugin: {
      ...readStreams(),
      async reserve({ keepTicket }) {
        const ticket = crypto.randomUUID();
        await keepTicket?.(ticket, 100);
        reserved.set(ticket, 100);
        await meter.onReserve();
        const calculateCost = (usage?: Readonly<Record<string, unknown>>) =>
          Number(usage?.["total_tokens"] ?? 100);
        return {
          amount: 100,
          ticket,
          calculateCost,
          settle: async (usage) => settle(ticket, calculateCost(usage)),
          release: async () => settle(ticket, 0),
        };
      },
      settleTicket: async (ticket, amount) => settle(ticket, amount ?? 100),
    } satisfies ProxyPlugin,
  };
  return meter;

  function settle(ticket: string, amount: number): void {
    if (meter.fails) throw new Error("the meter is closed");
    if (reserved.delete(ticket) && amount > 0) spent.push(amount);
  }
}

/** Silences the log of a test, and returns its lines. */
export function silenceLog(): string[] {
  const lines: string[] = [];
  const log = vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
  onTestFinished(() => log.mockRestore());
  return lines;
}

/** Wraps a host: a test sees its operations, and can make them fail. */
function watchHost(host: ClosableHost) {
  const running = new Set<Promise<void>>();
  let rejectPending!: () => void;
  const crashed = new Promise<never>((_, reject) => {
    rejectPending = () => reject(new Error("the process is gone"));
  });
  crashed.catch(() => {});
  let bound: BoundHost | undefined;
  const watched = {
    isGone: false,
    async close() {
      await Promise.allSettled(running);
      await host.close(100);
    },
    /** Ends the process like a crash: work in progress no longer reaches a row. */
    async crash() {
      watched.isGone = true;
      running.clear();
      await host.close(0);
    },
    /** Rejects every pending operation of a crashed process, so that its code stops running in this process. */
    rejectPending: () => rejectPending(),
    /** Operations that fail, by their names. */
    fails: (_: string) => false,
    /** Called after each operation, before its caller gets the result. */
    onStored: async (_: string) => {},
    /** Number of sources that were opened. */
    opened: 0,
    /** The names of the operations that ran. */
    operations: [] as string[],
    /** Resolves when the jobs that were started have ended. */
    ended: () => Promise.allSettled(running),
    /** Makes the owners of all running jobs count as lost. */
    async silenceOwners(userId = "Bearer user-token"): Promise<void> {
      const silence = operation("test.silence", (tx) =>
        tx.query("UPDATE jobs SET alive_until = 0 WHERE key = ? AND expires_at IS NULL", tx.key),
      );
      await bound?.run(await createUserKey(userId), silence, null);
    },
    /** Number of rows in a table. */
    async count(table: string): Promise<number | undefined> {
      const count = reading("test.count", (reader) =>
        reader.query<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`),
      );
      const [row] = (await bound?.run("test", count, null)) ?? [];
      return row?.count;
    },
    open(setup: Parameters<typeof host.open>[0]): (env: unknown) => BoundHost {
      const bind = host.open(setup);
      // jobs and sources get the same instance
      bound = bind({});
      const { run, start, open } = bound;
      bound.run = async (key, operation, input) => {
        if (watched.isGone) return crashed;
        if (watched.fails(operation.name)) throw new Error("the database is gone");
        watched.operations.push(operation.name);
        const output = await run(key, operation, input);
        await watched.onStored(operation.name);
        return output;
      };
      bound.start = (key, job, input) => {
        const track: typeof job.run = (context, jobInput) => {
          const ended = job.run(context, jobInput);
          running.add(ended);
          return ended;
        };
        return start(key, { ...job, run: track }, input);
      };
      bound.open = (key, source, input) => {
        watched.opened += 1;
        return open(key, source, input);
      };
      return bind;
    },
  };
  return watched;
}

interface StoredProxyOptions extends Omit<Partial<ProxyOptions<unknown>>, "gateway" | "host"> {
  /** @default a file in memory */
  readonly host?: ClosableHost;
  readonly gateway: ReturnType<typeof openGateway>;
}

/** A proxy whose streams and creates are stored. A bearer token is its user's name. */
export function openStoredProxy({
  host: innerHost,
  gateway,
  plugins = [resumableStreams(), idempotency()],
  ...options
}: StoredProxyOptions) {
  const host = watchHost(innerHost ?? nodeHost({ file: ":memory:", env: {} }));
  onTestFinished(async () => {
    gateway.close();
    if (!host.isGone) await host.close();
  });
  const jobs: JobEvent[] = [];
  const requests: RequestEvent[] = [];
  const { plugin: attempts, setAttempts } = createAttempts();
  const proxy = createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: ["https://app.example"],
    models: ["delta-5.3", "gamma-image-5-0-260128", "beta3.0-video"],
    routes: [chatRoutes, images, videos],
    secret: () => "a secret of the proxy's own, 32 and more",
    fetch: gateway.fetch,
    host,
    ...options,
    plugins: [
      ...plugins,
      attempts,
      definePlugin({
        onEvent: (event: ProxyEvent) =>
          void (event.type === "request" ? requests.push(event) : jobs.push(event)),
      }),
    ],
  });
  const closing = new AbortController();
  onTestFinished(() => closing.abort());
  // aborting ends the readers of bodies that a test does not read
  const send = ({ signal = closing.signal, ...more }: Parameters<typeof createRequest>[0] = {}) =>
    proxy.fetch(createRequest({ ...more, signal: AbortSignal.any([signal, closing.signal]) }), {});
  return {
    host,
    jobs,
    requests,
    send,
    proxy,
    setAttempts,
    startStream: (more: Parameters<typeof createRequest>[0] = {}) =>
      send({ body: { ...chat, stream: true }, ...more }),
    resume: (id: string, after?: number | string, more: Parameters<typeof createRequest>[0] = {}) =>
      send({
        method: "GET",
        path: `/v1/chat/streams/${id}`,
        ...more,
        headers: { ...more.headers, ...(after !== undefined && { "last-event-id": String(after) }) },
      }),
    stop: (id: string, more: Parameters<typeof createRequest>[0] = {}) =>
      send({ method: "DELETE", path: `/v1/chat/streams/${id}`, ...more }),
    create: (key: string | undefined, more: Parameters<typeof createRequest>[0] = {}) =>
      send({
        path: "/v1/images/generations",
        body: { model: "gamma-image-5-0-260128", prompt: "a bird" },
        ...more,
        headers: { ...more.headers, ...(key !== undefined && { "idempotency-key": key }) },
      }),
  };
}

/** The id of a response's stream. */
export function readStreamId(response: Response): string {
  const id = response.headers.get("x-stream-id") ?? "";
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  return id;
}

/** Computes the id of the stream of a user's idempotency key. */
export async function computeStreamId(key: string, user = "Bearer user-token"): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${user}\n${key}`));
  return Buffer.from(hash).toString("hex").slice(0, 32);
}

export const readCode = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

/** An event with a text. */
export const piece = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
export const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
export const done = "data: [DONE]\n\n";
export const usage = { total_tokens: 7 };
export const end = `${finish}data: ${JSON.stringify({ choices: [], usage })}\n\n${done}`;
/** Events with their ids, as they are sent. */
export const numbered = (events: readonly string[], first = 1) =>
  events.map((event, nth) => `id: ${first + nth}\n${event}`).join("");
/** The code of the error event in a text. */
export const errorCode = (text: string) => /event: error\ndata: .*"code":"(\w+)"/.exec(text)?.[1];
