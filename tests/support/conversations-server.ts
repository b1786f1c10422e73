import {
  type Client,
  type ClientOptions,
  createClient,
  type RecordStorage,
  streamResumption,
} from "@sluice/core";
import type { ObjectNamespace } from "@sluice/durable";
import { openObjects } from "@sluice/durable/node";
import { memoryStorage } from "@sluice/stores";
import { type RemoteStorage, type RemoteStorageOptions, remoteStorage } from "@sluice/sync";
import { conversations, conversationsObject } from "@sluice/sync/server";
import { createProxy } from "@sluice/worker-proxy";
import { createTestClock } from "./test-clock.ts";

interface Env {
  readonly CONVERSATIONS: ObjectNamespace;
}

const ORIGIN = "https://app.example.com";

/** Options of the proxy. */
type ServerOptions = Partial<Parameters<typeof createProxy<Env>>[0]>;

/**
 * A proxy that stores conversations, in this process, with its devices. They belong to Ada, unless a device names its
 * user.
 */
export function openServer(extra: ServerOptions = {}) {
  const kept = { namespace: (env: Env) => env.CONVERSATIONS };
  const objects = openObjects({
    file: ":memory:",
    env: {},
    objects: { CONVERSATIONS: conversationsObject<Env>(kept) },
  });
  const proxy = createProxy<Env>({
    baseURL: "https://gateway.example.com",
    apiKey: () => "key-of-the-gateway",
    authenticate: ({ headers }) => ({ id: headers.get("x-user") ?? "ada" }),
    origins: [ORIGIN],
    models: ["delta-5.3"],
    routes: ["chat"],
    plugins: [conversations<Env>(kept)],
    ...extra,
  });
  let devices = 0;
  const cuts: (() => void)[] = [];
  return {
    answer: (request: Request) => proxy.fetch(request, objects.env as Env),
    openDevice,
    close() {
      for (const goOffline of cuts) goOffline();
      return objects.close(0);
    },
  };

  /** Opens a browser of the user. Its scope separates its locks from those of other devices in this process. */
  function openDevice(
    options: Partial<ClientOptions> & RemoteStorageOptions & { readonly account?: string } = {},
  ) {
    const { local = memoryStorage(), onRefusal, account = "ada", ...clientOptions } = options;
    const requests: string[] = [];
    const state: { isOnline: boolean; before?: (path: string) => unknown } = { isOnline: true };
    const open = new Set<AbortController>();
    const client = createClient({
      baseURL: "https://proxy.example.com",
      resume: streamResumption(),
      clock: createTestClock(),
      user: `device-${++devices}-${Math.random()}`,
      async fetch(given) {
        if (!state.isOnline) throw new TypeError("fetch failed");
        const cut = new AbortController();
        open.add(cut);
        given.signal.addEventListener("abort", () => cut.abort());
        const request = new Request(given, { signal: cut.signal });
        request.headers.set("origin", ORIGIN);
        request.headers.set("x-user", account);
        // the name of the device identifies a browser, not a user
        request.headers.delete("x-sluice-user");
        const { pathname, search } = new URL(request.url);
        requests.push(`${request.method} ${decodeURIComponent(pathname)}`);
        await state.before?.(pathname + search);
        return proxy.fetch(request, objects.env as Env);
      },
      ...clientOptions,
    });
    const openTab = (): RemoteStorage => remoteStorage(client, { local, onRefusal });
    const goOffline = () => {
      state.isOnline = false;
      for (const cut of open) cut.abort();
    };
    cuts.push(goOffline);
    return {
      client,
      local,
      requests,
      openTab,
      storage: openTab(),
      /** Disconnects the network and all open connections. */
      goOffline,
      goOnline() {
        state.isOnline = true;
      },
      /** Runs before each request, which waits for the returned promise. */
      onRequest(before: (path: string) => unknown) {
        state.before = before;
      },
    };
  }
}

export const openChat = (client: Client, id = "trip") => `"${client.user}"/chat/${id}`;
export const list = (client: Client) => `"${client.user}"/conversations`;

/** A finished message, as a chat writes it. */
export const findMessage = (content: string, revision = 1, more: object = {}) => ({
  message: { id: content, role: "user", content, createdAt: 1, ...more },
  parent: null,
  revision,
});

/** Merges everything that a watcher receives. */
export function watchCollection(storage: RecordStorage, collection: string) {
  const records = new Map<string, unknown>();
  const stop = storage.watch(collection, (changes) => {
    for (const [key, value] of changes)
      if (value === undefined) records.delete(key);
      else records.set(key, value);
  });
  return { records, stop };
}
