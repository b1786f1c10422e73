import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import {
  afterEnd,
  deadLetters,
  type ObjectNamespace,
  type ObjectState,
  videoEvents,
  videoWatch,
  webhook,
} from "@sluice/durable";
import { createProxy, type JobEvent } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { vi } from "vitest";
import { asked } from "../../../worker-proxy/test/support/in-process.js";
import { KEY } from "../../../worker-proxy/test/support/key.js";
import { crashable, step } from "./crash.js";

/** A webhook as the app got it. `ok`: the app has taken it. */
interface Hook {
  readonly id: string;
  readonly type: string;
  readonly task: string;
  readonly hasFile: boolean;
  readonly ok: boolean;
}

/** The two sides of the notices under test: what the gateway and the app say, and what the app got. */
export const world = {
  task: (() => said("QUEUED")) as () => Response | Promise<Response>,
  app: (() => new Response(null, { status: 204 })) as () => Response | Promise<Response>,
  /** Stands for a handler of the operator's own, and for a binding that fails. */
  onEnd: undefined as (() => Promise<undefined>) | undefined,
  hasLetters: true,
  events: [] as JobEvent[],
  webhooks: [] as Hook[],
  reset() {
    world.onEnd = undefined;
    world.hasLetters = true;
    world.task = () => said("QUEUED");
    world.app = () => new Response(null, { status: 204 });
    for (const list of [world.events, world.webhooks]) list.length = 0;
  },
};

/** A task in the gateway's envelope. */
export function said(status: string): Response {
  return Response.json({ code: "success", data: { status, result_url: "https://cdn.example/v.mp4" } });
}

type Env = { readonly NOTICE_WATCH: ObjectNamespace };
const bindings = env as unknown as Env;

let tasks = 0;
const gateway = {
  baseURL: "https://gateway.example",
  apiKey: () => KEY,
  fetch: async ({ method }: Request) =>
    method === "POST"
      ? Response.json({ id: `n-${tasks}`, status: "queued" })
      : step(async () => world.task()),
};
const onEvent = (event: JobEvent) => void world.events.push(event);
const hook = webhook<Env>({
  url: () => "https://app.example/hook",
  secret: () => `whsec_${btoa("a secret of the app, 32 and more")}`,
  async fetch(request) {
    const { type, data } = (await request.json()) as { type: string; data: { id: string } };
    const answer = await step(async () => world.app());
    const id = request.headers.get("webhook-id") ?? "";
    const hasFile = JSON.stringify(data).includes("result_url");
    world.webhooks.push({ id, type, task: data.id, hasFile, ok: answer.ok });
    return answer;
  },
});
const notify = afterEnd<Env>([hook]);
const NoticeWatches = videoWatch<Env>({
  ...gateway,
  namespace: (given) => (world.hasLetters ? given.NOTICE_WATCH : undefined),
  onEvent,
  onEnd: (ended, work) => world.onEnd?.() ?? notify(ended, work),
});
/** The object, whose process may end at each of its writes. */
export class NoticeWatch extends NoticeWatches {
  constructor(state: ObjectState, given: Env) {
    super(crashable(state), given);
  }
}

export const events = videoEvents<Env>((given) => given.NOTICE_WATCH, { startOn: "create", onEvent });
const proxy = createProxy<Env>({
  ...gateway,
  authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
  origins: [],
  models: ["beta3.0-video"],
  routes: ["videos"],
  secret: () => "a secret of the proxy's own, 32 and more",
  plugins: [events],
});

/** The calls of an operator. */
export const operator = {
  webhooks: deadLetters<Env>((given) => given.NOTICE_WATCH),
  env: bindings,
};

type Stub = Parameters<typeof runInDurableObject>[0];
function objectOf(name: string): Stub {
  const { NOTICE_WATCH } = bindings;
  return NOTICE_WATCH.get(NOTICE_WATCH.idFromName(name) as never) as Stub;
}

/** The objects behind the notices. */
export const objects = {
  watch: async (user: string, id: string) => objectOf(`${await hashOf(user)}:${id}`),
  /** Finds the watch of the task that is created next. */
  nextWatch(user: string) {
    const id = `n-${tasks + 1}`;
    return () => objects.watch(user, id);
  },
  index: async (user: string) => objectOf(await hashOf(user)),
  letters: () => objectOf("dead letters"),
};

/** Time of an object's alarm. */
export const alarmOf = (object: Stub) => runInDurableObject(object, (_, { storage }) => storage.getAlarm());

/** Lets the time of an object's alarm come. Returns false where it has none. */
export async function ring(object: Stub): Promise<boolean> {
  const at = await alarmOf(object);
  if (at === null) return false;
  vi.setSystemTime(Math.max(Date.now(), at));
  return await runDurableObjectAlarm(object);
}

/** Rings the alarms of an object until none comes within a time, in milliseconds. */
export async function ringFor(object: Stub, ms: number): Promise<void> {
  const until = Date.now() + ms;
  for (let at = await alarmOf(object); at !== null && at <= until; at = await alarmOf(object))
    await ring(object);
}

/** A request of a user. */
export function ask(user: string, path: string, { method = "GET", body = undefined as unknown } = {}) {
  const request =
    body === undefined
      ? new Request(`https://proxy.example${path}`, { method, headers: { authorization: user } })
      : asked({ path, headers: { authorization: user }, body });
  return proxy.fetch(request, bindings);
}

/** A new task of a user. */
export async function create(user: string) {
  const gatewayId = `n-${++tasks}`;
  const body = { model: "beta3.0-video", input: { prompt: "a bird" } };
  const answer = await ask(user, "/v1/video/generations", { body });
  const { id } = (await answer.json()) as { id: string };
  return {
    id,
    gatewayId,
    requestId: answer.headers.get("x-request-id"),
    watch: await objects.watch(user, gatewayId),
    path: `/v1/video/generations/${id}`,
  };
}
