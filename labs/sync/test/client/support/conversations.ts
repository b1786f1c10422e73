import type { ClientEvent } from "@sluice/core";
import { uploads } from "@sluice/media";
import { memoryStorage } from "@sluice/stores";
import { remoteStorage } from "@sluice/sync";
import { clientOf, stoppedClock } from "../../../../../packages/core/test/support/gateway.js";
import "../../../../../packages/media/test/support/loaded.js";

interface Kept {
  readonly version: number;
  readonly value: unknown;
}

/** Answers a request in the place of the server; undefined leaves it to the server. */
type Script = (asked: {
  readonly path: string;
  readonly method: string;
  readonly query: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  readonly body: any;
  readonly headers: Headers;
}) => Response | undefined | Promise<Response | undefined>;

const json = (body: object, init?: ResponseInit) => Response.json(body, init);
export const refusal = (status: number, code: string, headers: Record<string, string> = {}) =>
  json({ error: { code, message: code } }, { status, headers: { "x-sluice-source": "proxy", ...headers } });

/** A stream of events that a test writes. */
export function openEvents() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
  });
  return {
    response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    send: (event: string, data: object, id?: number) =>
      controller.enqueue(
        new TextEncoder().encode(
          `event: ${event}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`,
        ),
      ),
    end: () => controller.close(),
    cut: () => controller.error(new TypeError("terminated")),
  };
}

/**
 * A page with a storage, and a server of few words: one conversation, `trip`. A test puts answers in the place of its
 * own.
 */
export function openPage(script: Script = () => undefined, local = memoryStorage()) {
  const clock = stoppedClock();
  const events: ClientEvent[] = [];
  const asked: string[] = [];
  const changes: Record<string, { value: unknown; seen: number }>[] = [];
  const records = new Map<string, Kept>();
  let version = 0;
  const follows: ReturnType<typeof openEvents>[] = [];
  let answer = script;
  const { client } = clientOf(
    async (request) => {
      const { pathname, searchParams } = new URL(request.url);
      const path = pathname.replace(/^\/v1\/conversations\/[^/]+/, "");
      asked.push(`${request.method} ${pathname.replace("/v1/conversations/trip", "")}`);
      const text = await request.text();
      const body = text === "" || !text.startsWith("{") ? undefined : JSON.parse(text);
      const given = { path, method: request.method, query: searchParams, body, headers: request.headers };
      return (await answer(given)) ?? serve(request.method, path, searchParams, body);
    },
    // no jitter
    {
      clock,
      user: `page-${Math.random()}`,
      random: () => 0.999_999,
      onEvent: (event) => events.push(event),
      uploads: uploads(),
    },
  );
  const collection = `"${client.user}"/chat/trip`;
  const storage = remoteStorage(client, { local });
  return {
    client,
    clock,
    local,
    storage,
    collection,
    events,
    asked,
    changes,
    records,
    follows,
    status: () => storage.status("chat/trip").getSnapshot(),
    write: (given: Record<string, unknown>) => storage.write(collection, new Map(Object.entries(given))),
    answerBy(next: Script) {
      answer = next;
    },
    set,
    /** The server loses its records, as after a backup. */
    lose(to = 0) {
      version = to;
      records.clear();
    },
    /** Opens the conversation as a chat does. Returns what its watcher is told. */
    async open() {
      const shown = new Map<string, unknown>();
      const stop = storage.watch(collection, (news) => {
        for (const [key, value] of news)
          if (value === undefined) shown.delete(key);
          else shown.set(key, value);
      });
      for (const [key, value] of await storage.read(collection)) shown.set(key, value);
      return { shown, stop };
    },
  };

  function set(key: string, value: unknown): number {
    version += 1;
    records.set(key, { version, value });
    return version;
  }

  function serve(
    method: string,
    path: string,
    query: URLSearchParams,
    body: { changes?: object } | undefined,
  ) {
    if (path === "/follow") {
      const opened = openEvents();
      opened.send("leases", { leases: {} });
      follows.push(opened);
      return opened.response;
    }
    if (path === "/records" && method === "GET") return json(difference(Number(query.get("since") ?? 0)));
    if (path === "/records") return json(change(body?.changes ?? {}));
    return path === "/leases" ? json({ isHeld: true }) : new Response(null, { status: 204 });
  }

  function difference(since: number) {
    const isWhole = since === 0 || since > version;
    const news = [...records].filter(([, kept]) => isWhole || kept.version > since);
    return {
      version,
      isWhole,
      records: Object.fromEntries(news.filter(([, { value }]) => value !== null)),
      removed: isWhole ? [] : news.flatMap(([key, { value }]) => (value === null ? key : [])),
    };
  }

  function change(given: object) {
    changes.push(given as (typeof changes)[0]);
    const taken: Record<string, number> = {};
    const kept: Record<string, Kept> = {};
    for (const [key, { value, seen }] of Object.entries(given as (typeof changes)[0])) {
      const there = records.get(key);
      if (there && JSON.stringify(there.value) === JSON.stringify(value)) taken[key] = there.version;
      else if ((there?.version ?? 0) <= seen) taken[key] = set(key, value);
      else if (there) kept[key] = there;
    }
    return { version, taken, kept };
  }
}

/** A finished message, as a chat writes it. */
export const message = (content: string, revision = 1, more: object = {}) => ({
  message: { id: content, role: "user", content, createdAt: 1, ...more },
  parent: null,
  revision,
});
