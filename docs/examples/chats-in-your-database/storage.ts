import type { RecordStorage } from "@sluice/core";
import { customStorage, indexedDBStorage } from "@sluice/stores";

type Change = { key: string; value: string | null };

// Postgres and URLs refuse some texts: a name is the JSON of one, without its quotes
const escapeName = (text: string) => JSON.stringify(text).slice(1, -1);
const listRecords = (changes: Change[]) =>
  new Map(
    changes.map(({ key, value }) => [
      JSON.parse(`"${key}"`) as string,
      value === null ? undefined : JSON.parse(value),
    ]),
  );

function writeJSON(record: unknown): string | null {
  const json = record === undefined ? null : JSON.stringify(record);
  if (json === undefined) throw new TypeError("a record needs JSON");
  return json;
}

/** True for the record of a response that still streams. */
function isStreaming(record: unknown): boolean {
  const { message } = (record ?? {}) as { message?: { role?: string; outcome?: string } };
  return message?.role === "assistant" && message.outcome === undefined;
}

/** Stores records on your server; `drafts` stores responses that still stream. */
export function serverStorage(drafts: RecordStorage = indexedDBStorage()) {
  let last: Promise<unknown> = Promise.resolve();
  const createAddress = (collection: string) =>
    `/records?collection=${encodeURIComponent(escapeName(collection))}`;

  async function send(collection: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(createAddress(collection), { ...init, signal: AbortSignal.timeout(20_000) });
    if (!response.ok) throw new Error(`records: ${response.status}`);
    return response;
  }

  /** One after the other: parallel requests may arrive in another order. */
  function inTurn(act: () => Promise<unknown>): Promise<void> {
    const acted = last.then(act).then(() => {});
    last = acted.catch(() => {});
    return acted;
  }

  return customStorage({
    async read(collection) {
      const [streaming, response] = await Promise.all([drafts.read(collection), send(collection)]);
      const ended = [...listRecords(await response.json())].filter(([, record]) => record !== undefined);
      return new Map([...streaming, ...ended]);
    },
    async write(collection, changes) {
      const ended = [...changes].filter(([, record]) => !isStreaming(record));
      const body = JSON.stringify(
        ended.map(([key, record]) => ({ key: escapeName(key), value: writeJSON(record) })),
      );
      const rest = [...changes].map(
        ([key, record]) => [key, isStreaming(record) ? structuredClone(record) : undefined] as const,
      );
      await inTurn(async () => {
        if (ended.length > 0) await send(collection, { method: "PATCH", body });
        await drafts.write(collection, new Map(rest));
      });
    },
    clear: (collection) =>
      inTurn(async () => {
        await send(collection, { method: "DELETE" });
        await drafts.clear?.(collection);
      }),
    ...(drafts.broadcast && { broadcast: (collection, changes) => drafts.broadcast?.(collection, changes) }),
    subscribe(collection, listener) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const open = () => {
        const opened = new EventSource(createAddress(collection)); // all of the collection, then what changes
        opened.onmessage = ({ data }) => listener(listRecords(JSON.parse(data)));
        // a browser reconnects by itself with the last id, but not after an error response
        opened.onerror = () => {
          if (opened.readyState === EventSource.CLOSED)
            timer = setTimeout(() => {
              source = open();
            }, 5000);
        };
        return opened;
      };
      let source = open();
      // other tabs of this browser; a draft that goes was written to the server
      const end = drafts.subscribe(collection, (changes) =>
        listener(new Map([...changes].filter(([, record]) => record !== undefined))),
      );
      return () => {
        clearTimeout(timer);
        source.close();
        end();
      };
    },
  });
}
