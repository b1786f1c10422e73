import { createClient, defineTool, streamResumption } from "@sluice/core";
import { type ObjectNamespace, once, onceObject, streamLog, streamLogObject } from "@sluice/durable";
import { openObjects } from "@sluice/durable/node";
import { createEmulator, type EmulatorOptions } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import { type ChatStore, createChatStore, memoryStorage } from "@sluice/stores";
import type { WhenBusy } from "@sluice/stores/internal";
import { remoteStorage, serverRunner } from "@sluice/sync";
import { type ConversationsOptions, conversations, conversationsObject, runner } from "@sluice/sync/server";
import { createProxy, type GatewayProxy } from "@sluice/worker-proxy";
import { createTestClock } from "./test-clock.ts";

/* Turns on the server, end to end: devices with `remoteStorage` over sockets, a proxy with a runner, and the emulator. */

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
  readonly STREAM_LOG: ObjectNamespace;
  readonly ONCE: ObjectNamespace;
}

const stops: (() => unknown)[] = [];

/** Ends all that was opened, after each test. */
export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

/** Starts the gateway and the proxy on sockets of this machine. */
export async function open(chat: NonNullable<EmulatorOptions["chat"]>) {
  const emulator = createEmulator({ apiKeys: ["key-of-the-gateway"], speed: 20, chat });
  const upstream = await serve(emulator, { port: 0 });
  const gateway = { baseURL: upstream.url, apiKey: () => "key-of-the-gateway" };
  const orders: unknown[] = [];
  const parameters = { type: "object", properties: { title: { type: "string" } } };
  const order = defineTool({
    name: "order",
    inputSchema: parameters,
    needsApproval: true,
    execute: async (input) => ({ ordered: orders.push(input) }),
  });
  const walk = defineTool({
    name: "walk",
    inputSchema: { type: "object" },
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
  });
  const kept: ConversationsOptions<Env> = {
    namespace: (env) => env.CONVERSATIONS,
    runner: runner<Env>({ proxy: () => proxy, model: "delta-5.3", tools: [order, walk] }),
  };
  const objects = openObjects({
    file: ":memory:",
    env: {},
    objects: {
      CONVERSATIONS: conversationsObject<Env>(kept),
      STREAM_LOG: streamLogObject<Env>({ ...gateway, namespace: (env) => env.STREAM_LOG }),
      ONCE: onceObject<Env>({ ...gateway, namespace: (env) => env.ONCE }),
    },
  });
  const proxy: GatewayProxy<Env> = createProxy<Env>({
    ...gateway,
    authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
    origins: [],
    models: ["delta-5.3", "gamma-image-5-0-260128"],
    routes: ["chat", "images"],
    plugins: [
      streamLog<Env>((env) => env.STREAM_LOG),
      once<Env>((env) => env.ONCE),
      conversations<Env>(kept),
    ],
  });
  const requests: Promise<Response>[] = [];
  const answer = (request: Request) => {
    const response = proxy.fetch(request, objects.env as Env);
    requests.push(response);
    return response;
  };
  const served = await serve({ fetch: answer }, { port: 0 });
  stops.push(
    () => upstream.close(),
    () => objects.close(0),
    // a request that a device has left still runs, and would find the objects closed
    () => Promise.allSettled(requests),
    () => served.close(),
  );
  return { url: served.url, orders, emulator };
}

interface DeviceOptions {
  readonly whenBusy?: WhenBusy;
  readonly send?: (request: Request) => Promise<Response>;
}

/** Opens a page on a device of Ada's. `leave` closes it: nothing of it is left. */
export function openDevice(url: string, { whenBusy = "reject", send = fetch }: DeviceOptions = {}) {
  const gone = new AbortController();
  const client = createClient({
    baseURL: url,
    resume: streamResumption(),
    user: `device-${Math.random()}`,
    clock: createTestClock(50),
    headers: { authorization: "ada" },
    fetch(given) {
      const request = new Request(given, { signal: AbortSignal.any([given.signal, gone.signal]) });
      // the name of the device identifies a browser, not a user
      request.headers.delete("x-sluice-user");
      return send(request);
    },
    onEvent: () => {},
  });
  const storage = remoteStorage(client, { local: memoryStorage() });
  const chat: ChatStore = createChatStore(client, {
    ...{ model: "delta-5.3", id: "c-1", storage, runner: serverRunner() },
    whenBusy,
  });
  const unsubscribe = chat.subscribe(() => {});
  const leave = () => {
    unsubscribe();
    chat.close();
    gone.abort();
  };
  stops.push(leave);
  const listMessages = () => chat.getSnapshot().messages;
  return { chat, leave, client, listMessages, texts: () => listMessages().map(({ content }) => content) };
}
