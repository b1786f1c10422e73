import type { Sql, TransactionSql } from "postgres";

/** A record as the page sends and gets it: its JSON, or null where it was removed. */
type Change = { key: string; value: string | null };

export async function createRecords(sql: Sql) {
  const followers = new Set<{ owner: string; wake: () => void }>();
  const tell = (owner?: string) => {
    for (const one of followers) if (owner === undefined || one.owner === owner) one.wake();
  };
  // the second function also runs after a reconnect: every page then reads the changes it missed
  await sql.listen("records", tell, () => tell());

  return async function respond(request: Request, owner: string): Promise<Response> {
    const collection = new URL(request.url).searchParams.get("collection") ?? "";
    if (request.headers.get("accept") === "text/event-stream")
      return follow(owner, collection, request.headers.get("last-event-id") ?? "0");
    if (request.method === "PATCH") await write(owner, collection, (await request.json()) as Change[]);
    else if (request.method === "DELETE") await drop(owner, collection);
    else return Response.json(await changesAfter("0", owner, collection));
    return new Response(null, { status: 204 });
  };

  function changesAfter(version: string, owner: string, collection: string) {
    return sql<(Change & { version: string })[]>`SELECT key, value, version FROM records
      WHERE owner = ${owner} AND collection = ${collection} AND version > ${version} ORDER BY version`;
  }

  function write(owner: string, collection: string, changes: Change[]) {
    const keys = changes.map(({ key }) => key);
    const values = changes.map(({ value }) => value);
    return change(owner, async (sql) => {
      await sql`INSERT INTO records (owner, collection, key, value)
        SELECT ${owner}, ${collection}, * FROM unnest(${keys}::text[], ${values as string[]}::text[])
        ON CONFLICT (owner, collection, key) DO UPDATE SET value = excluded.value, version = excluded.version`;
    });
  }

  /** Removes a collection, and those below it: `chat` and `chat/a`. */
  function drop(owner: string, collection: string) {
    return change(owner, async (sql) => {
      await sql`UPDATE records SET value = NULL, version = DEFAULT WHERE owner = ${owner}
        AND (collection = ${collection} OR starts_with(collection, ${`${collection}/`}))`;
    });
  }

  /** Changes all or nothing. One change of a user at a time: a lower version is never seen after a higher one. */
  async function change(owner: string, act: (sql: TransactionSql) => Promise<void>) {
    await sql.begin(async (sql) => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${owner}, 0))`;
      await act(sql);
      await sql`SELECT pg_notify('records', ${owner})`; // each process hears it after the end
    });
  }

  /** Streams what changes after a version, which is the id of each event. */
  function follow(owner: string, collection: string, version: string): Response {
    const encoder = new TextEncoder();
    const one = { owner, wake: () => {} };
    const leave = () => void followers.delete(one);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        followers.add(one);
        controller.enqueue(encoder.encode(": open\n\n"));
      },
      async pull(controller) {
        for (;;) {
          // start waiting before the read, so that no change is missed
          const woken = new Promise<void>((resolve) => {
            one.wake = resolve;
          });
          const changes = await changesAfter(version, owner, collection).catch((error) => {
            leave(); // the page asks again, from the last id
            throw error;
          });
          const newest = changes.at(-1);
          if (newest) {
            version = newest.version;
            controller.enqueue(encoder.encode(`id: ${version}\ndata: ${JSON.stringify(changes)}\n\n`));
            return;
          }
          await woken;
        }
      },
      cancel: leave,
    });
    return new Response(body, {
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    });
  }
}
