import {
  createProxy,
  health,
  type JobEvent,
  type ProxyEvent,
  type ProxyOptions,
  videos,
} from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";
import { afterEach, beforeEach, vi } from "vitest";
import { readEvents } from "../../../worker-proxy/test/support/event-stream.js";
import { createRequest } from "../../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../../worker-proxy/test/support/key.js";
import { nodeHost } from "../../src/host/node.js";
import { type VideoWatchOptions, videoWatch } from "../../src/videos/video-watch.js";
import { createAttempts } from "./attempts.js";

export const START = Date.UTC(2040, 0, 1);
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

type Respond = (request: Request) => Response | Promise<Response>;
type Env = Readonly<Record<string, string>>;

/** A task in the gateway's envelope. */
export function task(status: string, more: object = {}): Response {
  return Response.json({ code: "success", message: "", data: { task_id: "t-1", status, ...more } });
}

/** A task with its video. */
export const done = () => task("SUCCESS", { result_url: "https://cdn.example/v.mp4" });

/** A refusal in the gateway's words. */
export function refusal(status: number, headers: Record<string, string> = {}, message = "no"): Response {
  return Response.json({ error: { message, code: "x" } }, { status, headers });
}

/** Each test begins at {@link START}, on a clock that only the test moves. */
export function stopClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
      now: START,
    });
    vi.spyOn(Math, "random").mockReturnValue(0);
    countSignatures();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await Promise.all(opened.splice(0).map(({ close }) => close()));
    vi.restoreAllMocks();
  });
}

const opened: { close(): Promise<void> }[] = [];

/** The timer of the platform, which no test stops. */
const { setTimeout: wait } = globalThis;

/** Calls of Web Crypto in flight. Other threads run them, for any number of turns of this one. */
let signatures = 0;

function countSignatures(): void {
  for (const name of ["digest", "importKey", "sign"] as const) {
    const run = crypto.subtle[name].bind(crypto.subtle) as (...given: unknown[]) => Promise<never>;
    vi.spyOn(crypto.subtle, name).mockImplementation((...given: unknown[]) => {
      signatures += 1;
      return run(...given).finally(() => {
        signatures -= 1;
      });
    });
  }
}

/** Waits until all work that needs no timer has ended. */
export async function settle(turns = 20): Promise<void> {
  for (let idle = 0; idle < 10; idle = signatures > 0 ? 0 : idle + 1)
    await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => wait(resolve, 0));
}

async function step(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settle(1);
}

/** Sets the clock forward, as after a pause of this process. */
async function leap(ms: number): Promise<void> {
  // operations in progress end before the pause
  await step(SECOND);
  vi.setSystemTime(Date.now() + ms - SECOND);
  for (let turn = 0; turn < 2; turn += 1) await step(SECOND);
}

/** Moves the clock, with all timers in between. */
export async function advance(ms: number): Promise<void> {
  for (let remaining = ms; remaining > 0; remaining -= SECOND) await step(Math.min(remaining, SECOND));
  await settle();
}

/** Sets the clock forward, as after a pause of this process, and runs what is due. */
export async function jump(ms: number, turns?: number): Promise<void> {
  await settle(turns);
  await leap(ms);
  await settle(turns);
}

/** Moves the clock in steps until a promise has ended. Work of other threads may be in between. */
export async function advanceUntil<Result>(promise: Promise<Result>): Promise<Result> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  promise.then(end, end);
  await until(() => isOver);
  return await promise;
}

/** Moves the clock in steps until a condition holds. */
export async function until(holds: () => boolean, ms = SECOND): Promise<void> {
  for (let turn = 0; !holds(); turn += 1) {
    if (turn === 3000) throw new Error("the condition was never met");
    if (ms > SECOND) await leap(ms - 2 * SECOND);
    else await step(ms);
  }
  await settle();
}

/** Opens a proxy that watches videos, with a scripted gateway. The header `authorization` is the user's id. */
export function openWatchedProxy(
  options: VideoWatchOptions<Env> = {},
  { env = {}, file = ":memory:", ...more }: Partial<ProxyOptions<Env>> & { env?: Env; file?: string } = {},
) {
  const host = nodeHost<Env>({ file, env });
  opened.push({ close: () => host.close().catch(() => {}) });
  const events: JobEvent[] = [];
  /** Requests for a task, with the seconds since the start. */
  const polls: number[] = [];
  const requests: Request[] = [];
  let tasks = 0;
  const plugin = videoWatch<Env>(options);
  const { plugin: attempts, cutAttempts } = createAttempts();
  const gateway = { next: (() => task("QUEUED")) as Respond };
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["beta3.0-video"],
    routes: [videos],
    secret: () => "a secret of the proxy's own, 32 and more",
    host,
    fetch: async (request) => {
      if (request.method === "POST") return Response.json({ id: `t-${++tasks}`, status: "queued" });
      polls.push((Date.now() - START) / SECOND);
      requests.push(request.clone() as Request);
      return gateway.next(request);
    },
    ...more,
    plugins: [
      ...(more.plugins ?? [plugin, health()]),
      attempts,
      definePlugin({
        onEvent(event: ProxyEvent) {
          if (event.type !== "request") events.push(event);
        },
      }),
    ],
  });
  const send = (path: string, user: string, init: RequestInit = {}) =>
    proxy.fetch(
      new Request(`https://proxy.example${path}`, {
        ...init,
        headers: { authorization: user, ...(init.headers as Record<string, string>) },
      }),
      env,
    );
  return {
    ...{ proxy, plugin, host, events, polls, requests, gateway, env, send, cutAttempts },
    /** Creates a task. */
    async create(user = "ann") {
      const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
      const request = createRequest({
        path: "/v1/video/generations",
        headers: { authorization: user },
        body,
      });
      const receipt = await read(await proxy.fetch(request, env));
      const id = (JSON.parse(receipt.text) as { id: string }).id;
      const path = `/v1/video/generations/${id}`;
      const follow = ({ as = user, lastEventId, signal }: EventsRequest = {}) =>
        send(`${path}/events`, as, {
          ...(lastEventId && { headers: { "last-event-id": lastEventId } }),
          ...(signal && { signal }),
        });
      return {
        ...{ id, path, receipt, follow, gatewayId: `t-${tasks}` },
        listen: async (following: EventsRequest = {}) => readEvents(await follow(following)),
        poll: async (as = user) => read(await send(path, as)),
        async status() {
          const { text } = await read(await send(path, user));
          const { data, status } = JSON.parse(text) as { data?: { status: string }; status?: string };
          return data?.status ?? status;
        },
      };
    },
  };
}

interface EventsRequest {
  readonly as?: string;
  readonly lastEventId?: string | undefined;
  readonly signal?: AbortSignal;
}
