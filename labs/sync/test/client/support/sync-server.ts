import { hashToId } from "@sluice/core/extend";

interface Stored {
  version: number;
  value: unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the server trusts the tests
type Body = any;

/** A request as the scripted server sees it. */
export interface SyncRequest {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies
  readonly body: any;
  readonly user: string;
  readonly headers: Headers;
}

/** Responds in the place of the server; undefined leaves it to the server. */
export type Script = (request: SyncRequest) => Response | undefined | Promise<Response | undefined>;

/** What the server has of one user. */
interface Account {
  readonly collections: Map<string, Map<string, Stored>>;
  version: number;
  readonly commits: Map<string, { readonly version: number; readonly collection: string }>;
}

const marks = { "x-sluice-features": "resumable-streams, sync" };
let restores = 0;

/** The failure of a server that has the mark. */
export const refuse = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ error: { code, message: code } }, { status, headers: { ...marks, ...headers } });

/** A server of the sync protocol, in memory. `script` responds before it. */
export function createSyncServer() {
  let accounts = new Map<string, Account>();
  const streams = new Set<{
    readonly user: string;
    readonly send: (json: object) => void;
    readonly end: () => void;
  }>();
  const server = {
    /** Requests as `path` and body, in order. */
    requests: [] as SyncRequest[],
    script: (() => undefined) as Script,
    /** Returns the `fetch` of a page. `readUser()` returns the user of its session; undefined means signed out. */
    connect: (readUser: () => string | undefined) => (request: Request) => respond(request, readUser()),
    /** Lists the values of a collection. */
    list: (user: string, collection: string) =>
      new Map(
        [...getRecords(user, collection)]
          .filter(([, { value }]) => value !== null)
          .map(([key, { value }]) => [key, value]),
      ),
    set: (user: string, collection: string, changes: Record<string, unknown>) =>
      void commit(user, collection, Object.entries(changes)),
    /** Takes a backup, and returns the function that restores it. */
    backUp() {
      const backup = structuredClone(accounts);
      return () => {
        accounts = structuredClone(backup);
        restores += 1;
        // its process has started anew
        for (const { end } of streams) end();
        streams.clear();
      };
    },
    /** Number of pages that follow the changes. */
    countStreams: () => streams.size,
  };
  return server;

  async function respond(request: Request, user: string | undefined): Promise<Response> {
    const path = new URL(request.url).pathname.replace("/v1/sync/", "");
    const text = await request.text();
    const body: Body = text === "" ? {} : JSON.parse(text);
    const { headers } = request;
    const given = { path, body, user: user ?? "", headers };
    server.requests.push(given);
    const scripted = await server.script(given);
    if (scripted) return scripted;
    if (user === undefined) return refuse(401, "unauthorized");
    const named = headers.get("x-sluice-user");
    if (named !== null && named !== hashToId(user)) return refuse(409, "user_mismatch");
    const account = { "x-sluice-account": `account-of-${user}` };
    const known = headers.get("x-sluice-account");
    if (known !== null && known !== account["x-sluice-account"])
      return refuse(409, "account_changed", account);
    if (known === null && path !== "pull") return refuse(400, "account_missing", account);
    const cursor =
      path === "events" ? new URL(request.url).searchParams.get("since") : (body["cursor"] ?? null);
    if (cursor !== null && !getAccount(user).commits.has(cursor))
      return refuse(409, "unknown_cursor", account);
    if (path === "events") return follow(user, cursor, request.signal, account);
    const json =
      path === "pull" ? pull(user, body, cursor) : path === "push" ? push(user, body, cursor) : undefined;
    return json
      ? Response.json(json, { headers: { ...marks, ...account } })
      : refuse(404, "not_found", account);
  }

  function getAccount(user: string): Account {
    const known = accounts.get(user) ?? {
      collections: new Map(),
      version: 0,
      commits: new Map([["0.0", { version: 0, collection: "" }]]),
    };
    accounts.set(user, known);
    return known;
  }

  function getRecords(user: string, collection: string): Map<string, Stored> {
    const { collections } = getAccount(user);
    const known = collections.get(collection) ?? new Map<string, Stored>();
    collections.set(collection, known);
    return known;
  }

  function findCursor(user: string): string {
    return [...getAccount(user).commits.keys()].at(-1) ?? "0.0";
  }

  function commit(
    user: string,
    collection: string,
    changes: readonly (readonly [string, unknown])[],
  ): number {
    const account = getAccount(user);
    account.version += 1;
    const { version } = account;
    account.commits.set(`${version}.${restores}`, { version, collection });
    for (const [key, value] of changes) getRecords(user, collection).set(key, { version, value });
    const json = { cursor: findCursor(user), changes: [{ collection, version }] };
    for (const stream of streams) if (stream.user === user) stream.send(json);
    return version;
  }

  function pull(user: string, { collection }: Body, cursor: string | null) {
    const since = cursor === null ? 0 : Number(cursor.split(".")[0]);
    const all = [...getRecords(user, collection)]
      .filter(([, { version }]) => version > since)
      .sort(([, one], [, other]) => one.version - other.version)
      .map(([record, stored]) => ({ record, ...stored }));
    const changes = all.slice(0, 500);
    return { changes, cursor: findCursor(user), hasMore: changes.length < all.length };
  }

  function push(user: string, { collection, changes }: Body, cursor: string | null) {
    const results: object[] = [];
    const stored: [string, unknown][] = [];
    const since = getAccount(user).commits.get(cursor ?? "")?.version ?? 0;
    const isFollowed = [...getAccount(user).commits.values()].some(
      (one) => one.version > since && one.collection === collection,
    );
    let isSkipping = false;
    for (const { record, base, value } of changes as readonly {
      record: string;
      base: number;
      value: unknown;
    }[]) {
      const known = getRecords(user, collection).get(record) ?? { version: 0, value: null };
      if (isSkipping) results.push({ record, status: "skipped", version: 0 });
      else if (JSON.stringify(known.value) === JSON.stringify(value))
        results.push({ record, status: "stored", version: known.version });
      else if (known.version !== base) {
        isSkipping = true;
        results.push({ record, status: "conflict", ...known });
      } else if (JSON.stringify(value).length > 1_000_000) {
        isSkipping = true;
        results.push({
          record,
          status: "refused",
          version: 0,
          code: "record_too_large",
          message: "too large",
        });
      } else {
        stored.push([record, value]);
        results.push({ record, status: "stored", version: getAccount(user).version + 1 });
      }
    }
    if (stored.length > 0) commit(user, collection, stored);
    return { results, cursor: isFollowed || cursor === null ? null : findCursor(user) };
  }

  function follow(user: string, cursor: string | null, signal: AbortSignal, headers: object): Response {
    const { commits } = getAccount(user);
    const since = cursor === null ? Number.POSITIVE_INFINITY : (commits.get(cursor)?.version ?? 0);
    const changes = [...commits.values()].filter(({ version }) => version > since);
    let leave = () => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const send = (json: object) =>
          controller.enqueue(new TextEncoder().encode(`event: changed\ndata: ${JSON.stringify(json)}\n\n`));
        const stream = { user, send, end: () => controller.close() };
        streams.add(stream);
        leave = () => void streams.delete(stream);
        signal.addEventListener("abort", leave);
        send({ cursor: findCursor(user), changes });
      },
      cancel: () => leave(),
    });
    return new Response(body, { headers: { ...marks, ...headers, "content-type": "text/event-stream" } });
  }
}
