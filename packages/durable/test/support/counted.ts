import type {
  DurableObjectClass,
  DurableObjectHandlers,
  MediaBucket,
  ObjectState,
  ObjectStorage,
} from "@sluice/durable";

/** Numbers of what the platform counts. */
export interface Used {
  /** Requests to Durable Objects. */
  requests: number;
  /** Alarms of Durable Objects. */
  alarms: number;
  /** Rows that they wrote; a put and an alarm that is set are one each. */
  rows: number;
  /** Operations of R2 that write, and those that read. Deleting is free. */
  classA: number;
  classB: number;
  deleted: number;
  /** Requests to the gateway, to hosts of files and to the app. */
  outside: number;
}

const none = (): Used => ({
  requests: 0,
  alarms: 0,
  rows: 0,
  classA: 0,
  classB: 0,
  deleted: 0,
  outside: 0,
});
const used = none();
let rowsRead = 0;

/** Returns the number of rows that all counted objects have read so far. */
export const rowsReadOf = () => rowsRead;

/** Counts one use. */
export function count(name: keyof Used, times = 1): void {
  used[name] += times;
}

/** Returns what a piece of work uses, without what it does not use. */
export async function useOf(work: () => Promise<unknown>): Promise<Partial<Used>> {
  Object.assign(used, none());
  await work();
  return Object.fromEntries(Object.entries(used).filter(([, times]) => times > 0));
}

/** The same class, whose use of the platform is counted. */
export function counted<Env>(Kind: DurableObjectClass<Env>): DurableObjectClass<Env> {
  return class implements DurableObjectHandlers {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: Env) {
      const object = new Kind(
        {
          storage: countedStorage(state.storage),
          blockConcurrencyWhile: (work) => state.blockConcurrencyWhile(work),
          waitUntil: (work) => state.waitUntil(work),
        },
        env,
      );
      this.fetch = (request) => {
        count("requests");
        return object.fetch(request);
      };
      this.alarm = () => {
        count("alarms");
        return object.alarm();
      };
    }
  };
}

type ObjectSQL = ObjectStorage["sql"];

function countedStorage(storage: ObjectStorage): ObjectStorage {
  const sql = countedSQL(storage.sql);
  return watched(storage, (name) => {
    if (name === "put" || name === "setAlarm") count("rows");
    return name === "sql" ? sql : undefined;
  });
}

function countedSQL(sql: ObjectSQL): ObjectSQL {
  return {
    exec(query, ...bindings) {
      const cursor = sql.exec(query, ...bindings) as ReturnType<ObjectSQL["exec"]> & {
        rowsRead: number;
        rowsWritten: number;
      };
      const { rowsRead: read, rowsWritten: written } = cursor;
      rowsRead += read;
      count("rows", written);
      return {
        toArray() {
          const all = cursor.toArray();
          count("rows", cursor.rowsWritten - written);
          rowsRead += cursor.rowsRead - read;
          return all;
        },
      };
    },
  };
}

const CLASSES: Readonly<Record<string, keyof Used>> = {
  put: "classA",
  createMultipartUpload: "classA",
  uploadPart: "classA",
  complete: "classA",
  get: "classB",
  head: "classB",
  delete: "deleted",
};

/** The same bucket, whose operations are counted by what they cost. */
export function countedBucket(bucket: MediaBucket): MediaBucket {
  return watched(bucket, (name, target) => {
    if (CLASSES[name]) count(CLASSES[name]);
    if (name === "createMultipartUpload")
      return async (...given: Parameters<MediaBucket["createMultipartUpload"]>) =>
        countedUpload(await target.createMultipartUpload(...given));
    if (name === "resumeMultipartUpload")
      return (...given: Parameters<MediaBucket["resumeMultipartUpload"]>) =>
        countedUpload(target.resumeMultipartUpload(...given));
    return undefined;
  });
}

function countedUpload<Upload extends object>(upload: Upload): Upload {
  return watched(upload, (name) => void (CLASSES[name] && count(CLASSES[name])));
}

/** The same object; `seen` is told of each name that is read, and may give another value. */
function watched<Thing extends object>(thing: Thing, seen: (name: string, thing: Thing) => unknown): Thing {
  return new Proxy(thing, {
    get(target, name) {
      const other = seen(String(name), target);
      if (other !== undefined) return other;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
