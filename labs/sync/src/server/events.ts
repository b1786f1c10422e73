import { type HostContext, type Reader, Refusal, reading, type Source } from "@sluice/worker-proxy/plugin";
import { type Cursor, formatCursor, parseCursor, START } from "./cursor.js";
import { createRefusal } from "./refusal.js";
import type { SyncRequest } from "./request.js";

/** Maximum silence and maximum duration of a stream, in milliseconds. */
const SILENCE_MS = 15_000;
const MAX_MS = 1_800_000;
/** Maximum number of streams of a user in one process, and of collections in one event. */
const MAX_STREAMS = 20;
const MAX_CHANGES = 200;

/** The cursor to check, and the version after which changes are read. */
type ChangesInput = { readonly cursor: Cursor | null; readonly after: number };

interface ChangeRow {
  readonly newest: number;
  readonly tag: string;
  readonly is_known: number;
  readonly collection: string | null;
  readonly version: number;
}

/** Reads the collections that have changed. One statement sees one commit. */
export const readChanges = reading(
  "sync.changes",
  async ({ key, query }: Reader, { cursor, after }: ChangesInput) => {
    const { version, tag } = cursor ?? START;
    const rows = await query<ChangeRow>(
      `SELECT u.version AS newest, l.tag, c.collection, c.version,
          (SELECT COUNT(*) FROM sync_commits WHERE key = ? AND version = ? AND tag = ?) AS is_known
        FROM sync_users u JOIN sync_commits l ON l.key = u.key AND l.version = u.version
        LEFT JOIN (SELECT collection, version FROM sync_collections WHERE key = ? AND version > ?
          ORDER BY version LIMIT ?) c ON 1 = 1
        WHERE u.key = ? ORDER BY c.version`,
      ...[key, version, tag, key, after, MAX_CHANGES, key],
    );
    const [first] = rows;
    if (version !== START.version && !first?.is_known) throw createRefusal("unknown_cursor");
    return {
      changes: rows.flatMap((row) =>
        row.collection === null ? [] : [{ collection: row.collection, version: row.version }],
      ),
      newest: first ? { version: first.newest, tag: first.tag } : START,
    };
  },
);

type EventsInput = { readonly cursor: Cursor | null };

/** Creates the event stream. It limits the number of streams of each user. */
export function createEvents(): Source<EventsInput> {
  const counts = new Map<string, number>();
  return {
    name: "sync.events",
    async *run(context, { cursor }) {
      const { key } = context;
      const count = counts.get(key) ?? 0;
      if (count >= MAX_STREAMS) {
        yield encode('event: failed\ndata: {"code":"too_many_connections"}\n\n');
        return;
      }
      counts.set(key, count + 1);
      try {
        yield* streamChanges(context, cursor);
      } finally {
        const remaining = (counts.get(key) ?? 1) - 1;
        if (remaining > 0) counts.set(key, remaining);
        else counts.delete(key);
      }
    },
  };
}

/** Sends the changes after a cursor, then later changes as they happen. Without a cursor, only later changes. */
async function* streamChanges({ host, key, signal, subscribe }: HostContext, cursor: Cursor | null) {
  const endsAt = Date.now() + MAX_MS;
  const change = createChangeWait(signal);
  const unsubscribe = subscribe(change.notify);
  try {
    let sentCursor = cursor;
    for (let isFirst = true; !signal.aborted && Date.now() < endsAt; isFirst = false) {
      if (!isFirst && !(await change.wait(SILENCE_MS))) yield encode(": still here\n\n");
      for (let after = sentCursor?.version ?? Number.MAX_SAFE_INTEGER; ; ) {
        const { changes, newest } = await host.run(key, readChanges, { cursor: sentCursor, after });
        // a full list may have more changes
        const last = changes.length === MAX_CHANGES ? changes.at(-1) : undefined;
        if (changes.length > 0 || isFirst || newest.version !== sentCursor?.version) {
          const data = { cursor: last ? null : formatCursor(newest), changes };
          yield encode(`event: changed\ndata: ${JSON.stringify(data)}\n\n`);
        }
        if (!last) {
          sentCursor = newest;
          break;
        }
        after = last.version;
      }
    }
  } catch (error) {
    // an unknown cursor: the database was restored, and the client must connect again
    if (!(error instanceof Refusal) || error.reason !== "custom") throw error;
  } finally {
    unsubscribe();
  }
}

/** Creates a wait that a change ends. A change during other work ends the next wait. */
function createChangeWait(signal: AbortSignal) {
  let isNotified = false;
  let end = (_: boolean) => {};
  const notify = () => {
    isNotified = true;
    end(true);
  };
  signal.addEventListener("abort", notify, { once: true });
  return {
    notify,
    /** Resolves with true after a change, and with false after `ms` milliseconds. */
    async wait(ms: number): Promise<boolean> {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const isChanged = await new Promise<boolean>((resolve) => {
        end = resolve;
        if (isNotified) resolve(true);
        timer = setTimeout(() => resolve(false), ms);
      });
      clearTimeout(timer);
      isNotified = false;
      return isChanged;
    },
  };
}

const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);

/** Serves the events. @throws {Refusal} */
export async function serveEvents<Env>(
  events: Source<EventsInput>,
  { host, key, admitted }: SyncRequest<Env>,
): Promise<Response> {
  const since = new URL(admitted.request.url).searchParams.get("since");
  const cursor = since === null ? null : parseCursor(since);
  await host.run(key, readChanges, { cursor, after: Number.MAX_SAFE_INTEGER });
  const stream = await host.open(key, events, { cursor });
  return new Response(stream as BodyInit, { headers: { "content-type": "text/event-stream" } });
}
