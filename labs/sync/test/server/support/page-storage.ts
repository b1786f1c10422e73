import type { RecordStorage } from "@sluice/core";

type Records = Map<string, unknown>;

/** Request to the proxy about one conversation, as the user of the page. */
export type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** A storage of a page over the routes of one conversation, without a copy of its own: what `remoteStorage` does, in short. */
export function pageStorage(send: Send, id: string, device: string): RecordStorage & { leave(): void } {
  const path = `/v1/conversations/${id}`;
  const seen = new Map<string, number>();
  const listeners = new Set<(changes: Records) => void>();
  const leaving = new AbortController();
  let isFollowing = false;
  const isChat = (collection: string) => collection.endsWith(`chat/${id}`);
  return {
    async read(collection) {
      if (!isChat(collection)) return new Map();
      return taken(await (await send(`${path}/records?limit=1000`)).json());
    },
    async write(collection, changes) {
      if (!isChat(collection)) return;
      const all = [...changes].map(([key, value = null]) => [key, { value, seen: seen.get(key) ?? 0 }]);
      const body = JSON.stringify({ device, changes: Object.fromEntries(all) });
      const init = { method: "POST", headers: { "content-type": "application/json" }, body };
      const answer = (await (await send(`${path}/records`, init)).json()) as {
        taken: Record<string, number>;
        kept: object;
      };
      for (const [key, version] of Object.entries(answer.taken)) seen.set(key, version);
      tell(taken({ records: answer.kept }));
    },
    watch(collection, listener) {
      if (!isChat(collection)) return () => {};
      listeners.add(listener);
      if (!isFollowing) void follow();
      return () => void listeners.delete(listener);
    },
    leave: () => leaving.abort(),
  };

  async function follow(): Promise<void> {
    isFollowing = true;
    const { body } = await send(`${path}/follow?device=${device}`, { signal: leaving.signal });
    const reader = body?.getReader();
    for (let text = ""; ; ) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return;
      text += new TextDecoder().decode(value);
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        event(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  function event(text: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1] ?? "";
    if (field("event") === "records") tell(taken(JSON.parse(field("data"))));
    if (field("event") === "passed") tell(new Map(Object.entries(JSON.parse(field("data")).records)));
  }

  function taken({ records = {}, removed = [] }: { records?: object; removed?: readonly string[] }): Records {
    const all: Records = new Map(removed.map((key) => [key, undefined]));
    for (const [key, record] of Object.entries(records) as [string, { version: number; value: unknown }][]) {
      seen.set(key, record.version);
      all.set(key, record.value ?? undefined);
    }
    return all;
  }

  function tell(changes: Records): void {
    if (changes.size > 0) for (const listener of listeners) listener(changes);
  }
}
