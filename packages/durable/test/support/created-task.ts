import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type ObjectNamespace, videoEvents } from "@sluice/durable";
import { createProxy, type JobEvent } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { afterEach, beforeEach, vi } from "vitest";
import { asked } from "../../../worker-proxy/test/support/in-process.js";
import { KEY, read } from "../../../worker-proxy/test/support/key.js";
import { gateway, task } from "./durable-gateway.js";

export const START = Date.UTC(2040, 0, 1);
export const SECOND = 1000;
export const HOUR = 3600 * SECOND;
export const DAY = 24 * HOUR;
let tasks = 0;

/** Id of the newest task at the gateway. */
export const newestTask = () => `t-${tasks}`;
/** Times at which the gateway was asked about a task. */
export const polls: number[] = [];

/** Each test of the file begins at `START`, on a clock that stands still. */
export function stopClock(): void {
  beforeEach(() => {
    // a time that never comes by itself: alarms ring when a test says so
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: START });
    vi.spyOn(Math, "random").mockReturnValue(0);
    polls.length = 0;
    gatewaySays(queued);
  });

  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

export function gatewaySays(next: () => Response | Promise<Response>): void {
  gateway.answers((request) => {
    if (request.method === "POST") return Response.json({ id: `t-${tasks}`, status: "queued", progress: 0 });
    polls.push(Date.now());
    return next();
  });
}

/** A proxy that watches tasks from their create, and one new task of a user. */
export async function create({
  user = "ann",
  watch = env.VIDEO_WATCH,
  namespace = (_: typeof env) => watch,
  onEvent = (_: JobEvent) => {},
} = {}) {
  const id = `t-${++tasks}`;
  const proxy = createProxy<typeof env>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["beta3.0-video"],
    routes: ["videos"],
    secret: () => "a secret of the proxy's own, 32 and more",
    plugins: [videoEvents<typeof env>(namespace as () => ObjectNamespace, { startOn: "create", onEvent })],

    fetch: gateway.answer,
  });
  const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
  const request = asked({ path: "/v1/video/generations", headers: { authorization: user }, body });
  const receipt = await read(await proxy.fetch(request, env));
  const sentId = idIn(receipt.text);
  const object = watch.get(watch.idFromName(`${await hashOf(user)}:${id}`));
  const ask = (path = "", { as = user, method = "GET", signal }: Asked = {}) =>
    proxy.fetch(
      new Request(`https://proxy.example/v1/video/generations/${sentId}${path}`, {
        method,
        headers: { authorization: as },
        ...(signal && { signal }),
      }),
      env,
    );
  const alarmAt = () =>
    runInDurableObject(object, async (_, { storage }) => {
      const at = await storage.getAlarm();
      return at === null ? null : (at - START) / SECOND;
    });
  return {
    receipt,
    sentId,
    object,
    ask,
    alarmAt,
    status: async () => {
      const { data, status } = (await (await ask()).json()) as { data?: { status: string }; status?: string };
      return data?.status ?? status;
    },
    async ring() {
      const at = await alarmAt();
      vi.setSystemTime(Math.max(Date.now(), START + (at ?? 0) * SECOND));
      return runDurableObjectAlarm(object);
    },
  };
}

interface Asked {
  readonly as?: string;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

function idIn(receipt: string): string {
  const { id } = JSON.parse(receipt) as { id: string };
  return id;
}

export const queued = () => task("QUEUED", { task_id: `t-${tasks}` });
export const done = () => task("SUCCESS", { task_id: `t-${tasks}`, result_url: "https://cdn.example/v.mp4" });
