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
import { webPush } from "@sluice/durable/push";
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

/** The two sides of the notices under test: what the gateway, the app and the push services say, and what they got. */
export const world = {
  task: (() => said("QUEUED")) as () => Response | Promise<Response>,
  app: (() => new Response(null, { status: 204 })) as () => Response | Promise<Response>,
  service: (() => new Response(null, { status: 201 })) as () => Response | Promise<Response>,
  /** Stands for a handler of the operator's own, and for a binding that fails. */
  onEnd: undefined as (() => Promise<undefined>) | undefined,
  hasLetters: true,
  events: [] as JobEvent[],
  webhooks: [] as Hook[],
  /** The addresses of browsers that got a push. */
  pushes: [] as string[],
  reset() {
    world.onEnd = undefined;
    world.hasLetters = true;
    world.task = () => said("QUEUED");
    world.app = () => new Response(null, { status: 204 });
    world.service = () => new Response(null, { status: 201 });
    for (const list of [world.events, world.webhooks, world.pushes]) list.length = 0;
  },
};

/** A task in the gateway's envelope. */
export function said(status: string): Response {
  return Response.json({ code: "success", data: { status, result_url: "https://cdn.example/v.mp4" } });
}

type Env = { readonly NOTICE_WATCH: ObjectNamespace; readonly NOTICE_PUSH: ObjectNamespace };
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
/** Any keys: nothing here decrypts. */
export const vapid = {
  publicKey: "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
  privateKey: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  subject: "mailto:ops@app.example",
};
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
export const push = webPush<Env>({
  subscriptions: (given) => given.NOTICE_PUSH,
  vapid: () => vapid,
  onEvent,
  async fetch({ url }) {
    const answer = await step(async () => world.service());
    if (answer.ok) world.pushes.push(url);
    return answer;
  },
});

const notify = afterEnd<Env>([hook, push]);
const NoticeWatches = videoWatch<Env>({
  ...gateway,
  namespace: (given) => (world.hasLetters ? given.NOTICE_WATCH : undefined),
  onEvent,
  onEnd: (ended, work) => world.onEnd?.() ?? notify(ended, work),
});
/** The objects, whose process may end at each of their writes. */
export class NoticeWatch extends NoticeWatches {
  constructor(state: ObjectState, given: Env) {
    super(crashable(state), given);
  }
}
export class NoticePush extends push.PushSubscriptions {
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
  extensions: [events, push],
  limits: { pollMemoMs: 0 },
});

/** The calls of an operator. */
export const operator = {
  webhooks: deadLetters<Env>((given) => given.NOTICE_WATCH),
  pushes: deadLetters<Env>((given) => given.NOTICE_PUSH),
  env: bindings,
};

type Stub = Parameters<typeof runInDurableObject>[0];
const objectOf = (namespace: keyof Env, name: string) =>
  bindings[namespace].get(bindings[namespace].idFromName(name) as never) as Stub;

/** The objects behind the notices. */
export const objects = {
  watch: async (user: string, id: string) => objectOf("NOTICE_WATCH", `${await hashOf(user)}:${id}`),
  /** Finds the watch of the task that is created next. */
  nextWatch(user: string) {
    const id = `n-${tasks + 1}`;
    return () => objects.watch(user, id);
  },
  push: async (user: string) => objectOf("NOTICE_PUSH", await hashOf(`push\n${user}`)),
  index: async (user: string) => objectOf("NOTICE_WATCH", await hashOf(user)),
  owner: async (id: string) => objectOf("NOTICE_PUSH", await hashOf(`endpoint\n${id}`)),
  letters: async (namespace: keyof Env) => objectOf(namespace, "dead letters"),
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

/** A browser's subscription. Its keys are those of the example in RFC 8291. */
export const browser = (name: string) => ({
  endpoint: `https://fcm.googleapis.com/${name}`,
  keys: {
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  },
});

/** Subscribes a browser. Returns the id of the subscription. */
export async function subscribe(user: string, name: string): Promise<string> {
  const answer = await ask(user, "/v1/notifications", { body: browser(name) });
  return ((await answer.json()) as { id: string }).id;
}
