import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ObjectNamespace, ObjectState } from "@sluice/durable";
import { type MediaBucket, mediaIndex } from "@sluice/durable";
import type { JobEvent } from "../../../worker-proxy/src/api/events.js";
import { countedState } from "./rows.js";

const DAY_MS = 86_400_000;
/** No bound. */
export const MOST = { mostBytes: 1e15, mostUploadBytes: 1e15, mostFiles: 1e9 };

/** A bucket that keeps the names of its files. */
function openBucket() {
  const keys: string[] = [];
  const state = { isAway: false };
  const bucket: Pick<MediaBucket, "put" | "delete"> = {
    async put(key, content) {
      await new Response(content).arrayBuffer();
      keys.push(key);
    },
    async delete(gone) {
      if (state.isAway) throw new Error("the bucket is away");
      for (const key of gone) if (keys.includes(key)) keys.splice(keys.indexOf(key), 1);
    },
  };
  return { keys, state, bucket: bucket as MediaBucket };
}

/** Runs with the index of a user, in an object of its own. The index of all users takes everything. */
export async function withIndex<T>(
  name: string,
  run: (index: Awaited<ReturnType<typeof openIndex>>) => Promise<T>,
) {
  // any object of the platform's will do: its own class creates no table before it is asked
  const object = env.BUDGET.get(env.BUDGET.idFromName(`media ${name}`));
  return await runInDurableObject(object, (_, state) => run(openIndex(state as never)));
}

/** The alarm is the test's: the platform would call that of the object's own class. */
function withAlarm(state: ObjectState): ObjectState {
  let alarmAt: number | null = null;
  const storage = new Proxy(state.storage, {
    get(target, name) {
      if (name === "setAlarm")
        return async (at: number) => {
          alarmAt = at;
        };
      if (name === "getAlarm") return async () => alarmAt;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return {
    storage,
    blockConcurrencyWhile: (work) => state.blockConcurrencyWhile(work),
    waitUntil: (work) => state.waitUntil(work),
  };
}

function openIndex(given: ObjectState) {
  const { state, rows } = countedState(withAlarm(given));
  const { bucket, keys, state: bucketState } = openBucket();
  const events: JobEvent[] = [];
  const asked: object[] = [];
  const namespace = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        if (name !== "all") return await index.fetch(request);
        asked.push(await request.json());
        return Response.json({ file: {} });
      },
    }),
  } as unknown as ObjectNamespace;
  const Index = mediaIndex<object>({
    bucket: () => bucket,
    index: () => namespace,
    secret: () => "a secret for links, of 32 letters and more",
    userFiles: 1_000_000,
    userBytes: 1e12,
    archive: { hosts: ["cdn.example"] },
    onEvent: (event) => void events.push(event),
  });
  const index = new Index(state, {}) as Required<InstanceType<typeof Index>>;
  const ask = async (body: object) => {
    const request = new Request("https://media.invalid/", { method: "POST", body: JSON.stringify(body) });
    return (await (await index.fetch(request)).json()) as {
      file?: { id: string; received: number; isWhole: number; expiresAt: number };
      files?: { id: string }[];
      full?: string;
      next?: string;
      isMore?: boolean;
    };
  };
  return {
    ask,
    keys,
    bucket: bucketState,
    events,
    asked,
    rows,
    sql: state.storage.sql,
    alarm: () => index.alarm(),
    open: (id: string, more: object = {}) =>
      ask({
        do: "open",
        file: { id, bytes: 10, type: "image/png", expiresAt: Date.now() + DAY_MS },
        isCopy: false,
        ...MOST,
        ...more,
      }),
    /** The rows that are used meanwhile. */
    async usedBy(act: () => Promise<unknown>) {
      const before = { ...rows };
      await act();
      return { read: rows.read - before.read, written: rows.written - before.written };
    },
  };
}

/** A job to copy a file. */
export const job = (name: string) => ({
  source: `source ${name}`,
  id: name,
  userId: "user-1",
  url: "https://cdn.example/film.png",
});
