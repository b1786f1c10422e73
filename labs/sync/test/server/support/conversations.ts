import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { conversations } from "@sluice/sync/server";
import { createProxy, type ProxyOptions } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { KEY } from "../../../../../packages/worker-proxy/test/support/key.js";
import { keptConversations } from "./kept-conversations.js";

export const ORIGIN = "https://app.example";
const BASE = "https://proxy.example";

/** Fields of a request of a user. */
interface Sent {
  readonly user?: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** An answer with its JSON. */
export interface Said {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers
  readonly json: any;
}

/** A proxy that keeps conversations. A bearer token is its user's name. */
export function openConversations(options: Partial<ProxyOptions<unknown>> = {}) {
  const proxy = createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: ({ headers }) => {
      const id = headers.get("authorization");
      return id ? { id } : null;
    },
    origins: [ORIGIN],
    models: ["delta-5.3"],
    routes: ["chat"],
    plugins: [conversations(keptConversations)],
    ...options,
  });
  return { send, ask, read, write, lease, follow };

  function send(path: string, { user = "ada", method = "GET", body, headers, signal }: Sent = {}) {
    const request = new Request(`${BASE}${path}`, {
      method,
      headers: {
        origin: ORIGIN,
        authorization: user,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    return proxy.fetch(request, env);
  }

  async function ask(path: string, sent?: Sent): Promise<Said> {
    const { status, headers, ...response } = await send(path, sent).then(async (answer) => ({
      status: answer.status,
      headers: answer.headers,
      text: await answer.text(),
    }));
    const isJSON = headers.get("content-type") === "application/json";
    return { status, headers, json: isJSON ? JSON.parse(response.text) : response.text };
  }

  function read(id: string, query = "", sent?: Sent) {
    return ask(`/v1/conversations/${encodeURIComponent(id)}/records${query}`, sent);
  }

  /** Writes records: values by key, or changes with what was seen. */
  async function write(
    id: string,
    changes: object,
    sent: Sent & { readonly device?: string; readonly lease?: string; readonly release?: unknown } = {},
  ) {
    const { device = "device-a", lease, release, ...rest } = sent;
    const body = {
      device,
      changes,
      ...(lease !== undefined && { lease }),
      ...(release !== undefined && { release }),
    };
    return ask(`/v1/conversations/${encodeURIComponent(id)}/records`, { ...rest, method: "POST", body });
  }

  async function lease(id: string, device: string, name = "m-1", more: object = {}, sent: Sent = {}) {
    const path = `/v1/conversations/${encodeURIComponent(id)}/leases`;
    return ask(path, { ...sent, method: "POST", body: { device, name, ms: 10_000, ...more } });
  }

  /** Opens the events of a conversation, which a test reads one by one. */
  async function follow(id: string, query = "", sent: Sent = {}) {
    const leaving = new AbortController();
    const path = `/v1/conversations/${encodeURIComponent(id)}/follow${query}`;
    const response = await send(path, { ...sent, signal: leaving.signal });
    return { response, leave: () => leaving.abort(), ...openEvents(response) };
  }
}

/** Changes that a device makes without having seen anything. */
export function unseen(values: Readonly<Record<string, unknown>>, seen = 0) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, seen }]));
}

/** A finished message. */
export const message = (content: string, more: object = {}) => ({
  message: { role: "user", content, createdAt: 1_000, ...more },
  parent: null,
  revision: 1,
});

/** The object of a conversation of a user; the index of the user for `~index`. */
export async function objectFor(id: string, user = "ada") {
  const userName = await hashOf(user);
  return env.CONVERSATIONS.get(
    env.CONVERSATIONS.idFromName(id === "~index" ? userName : `${userName}:${id}`),
  );
}

export interface Told {
  readonly event: string;
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events
  readonly data: any;
}

/** Reads events of a stream. */
function openEvents({ body }: Response) {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return { next };

  /** The next event; undefined at the end of the stream. Comments are left out. */
  async function next(): Promise<Told | undefined> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const field = (name: string) =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
        const event = field("event");
        if (event !== undefined) return { event, id: field("id"), data: JSON.parse(field("data") ?? "null") };
        continue;
      }
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  }
}

/** The requests of one user. */
export function openUser(user: string, options?: Parameters<typeof openConversations>[0]) {
  const { read, write, follow, lease, ask, send } = openConversations(options);
  const pathOf = (id: string, rest = "") => `/v1/conversations/${encodeURIComponent(id)}${rest}`;
  return {
    send,
    ask: (path: string, sent: object = {}) => ask(path, { user, ...sent }),
    read: (id: string, query?: string) => read(id, query, { user }),
    write: (id: string, changes: object, sent: object = {}) => write(id, changes, { user, ...sent }),
    follow: (id: string, query?: string, sent: object = {}) => follow(id, query, { user, ...sent }),
    lease: (id: string, device: string, name?: string, more?: object) =>
      lease(id, device, name, more, { user }),
    release: (id: string, device: string, name = "m-1") =>
      ask(pathOf(id, "/leases"), { user, method: "DELETE", body: { device, name } }),
    pass: (id: string, device: string, records: object) =>
      ask(pathOf(id, "/pass"), { user, method: "POST", body: { device, records } }),
    remove: (id: string) => ask(pathOf(id), { user, method: "DELETE" }),
    search: async (q: string, more = "") =>
      (await ask(`/v1/conversations/~index/search?q=${encodeURIComponent(q)}${more}`, { user })).json.matches,
    /** Lets the time of an object's alarm come, and rings it; false where there is none. */
    ring: async (id: string) => runDurableObjectAlarm(await objectFor(id, user)),
    evict: async (id: string) => evictDurableObject(await objectFor(id, user)),
  };
}

/** The record of a conversation in the list of the app. */
export const listed = (title: string, more: object = {}) => ({
  title,
  createdAt: 1_000,
  updatedAt: 2_000,
  revision: 1,
  ...more,
});
