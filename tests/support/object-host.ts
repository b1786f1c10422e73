import { AsyncLocalStorage } from "node:async_hooks";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { cloudflareHost, type DurableObjectClass, durableObject } from "@sluice/durable/cloudflare";

type Instance = InstanceType<DurableObjectClass<unknown>>;
type State = ConstructorParameters<DurableObjectClass<unknown>>[0];

/** One object: its rows outlast its process. Alarms do not ring by themselves. */
interface HostedObject {
  readonly name: string;
  readonly database: DatabaseSync;
  alarmAt: number | null;
  process?: HostedProcess | undefined;
}

interface HostedProcess {
  readonly instance: Instance;
  readonly ready: Promise<unknown>;
  readonly died: Promise<never>;
}

/** The timers of the running process, and the processes that have ended. */
const running = new AsyncLocalStorage<Set<NodeJS.Timeout>>();
const ended = new WeakSet<Set<NodeJS.Timeout>>();
for (const name of ["setTimeout", "setInterval"] as const) {
  const start = globalThis[name];
  globalThis[name] = Object.assign((...given: Parameters<typeof setTimeout>) => {
    const timer = start(...given);
    const process = running.getStore();
    process?.add(timer);
    if (process && ended.has(process)) clearTimeout(timer);
    return timer;
  }, start) as never;
}

/** Runs the Durable Objects of one proxy in this process, with their rows in memory. */
export function createObjectHost() {
  const objects = new Map<string, HostedObject>();
  let Kind: DurableObjectClass<unknown>;
  let kill: () => void = () => {};
  let died = createLife();
  let timers = new Set<NodeJS.Timeout>();
  const namespace = {
    idFromName: (name: string) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        const { instance, ready, died } = openProcess(findObject(name));
        await Promise.race([ready, died]);
        const response = await running.run(timers, () => Promise.race([instance.fetch(request), died]));
        return running.run(timers, () => endWith(response, died));
      },
    }),
  };
  return {
    /** The option `host` of the proxy. */
    host: cloudflareHost<unknown>(() => namespace),
    /** The binding of the class. */
    namespace,
    /** Sets the proxy with this host. Its plugins run in the objects. */
    use<Proxy extends object>(proxy: Proxy): Proxy {
      Kind = durableObject<unknown>(proxy);
      return proxy;
    },
    /** Sets the class that a Worker exports. */
    useClass(given: DurableObjectClass<never>): void {
      Kind = given as DurableObjectClass<unknown>;
    },
    /** Ends the process of all objects: their waits never end, and their actions have no effect. */
    kill(): void {
      for (const object of objects.values()) object.process = undefined;
      kill();
      died = createLife();
      for (const timer of timers) clearTimeout(timer);
      ended.add(timers);
      timers = new Set();
    },
  };

  function createLife(): Promise<never> {
    const life = new Promise<never>((_, reject) => {
      kill = () => reject(Object.assign(new Error("the object was lost"), { durableObjectReset: true }));
    });
    life.catch(() => {});
    return life;
  }

  function findObject(name: string): HostedObject {
    const object = objects.get(name) ?? { name, database: new DatabaseSync(":memory:"), alarmAt: null };
    objects.set(name, object);
    return object;
  }

  function openProcess(object: HostedObject): HostedProcess {
    if (object.process) return object.process;
    let isNew = true;
    // an object reads its rows in its constructor
    const isAlive = () => isNew || object.process === process;
    let ready: Promise<unknown> = Promise.resolve();
    const onReady = (work: Promise<unknown>) => {
      ready = work;
    };
    const instance = running.run(timers, () => new Kind(createState(object, isAlive, onReady), {}));
    const process: HostedProcess = { instance, ready, died };
    object.process = process;
    isNew = false;
    return process;
  }
}

/** Returns the same response. Its body breaks when its process ends. */
function endWith(response: Response, died: Promise<never>): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  // a source runs while its body is read, in its own process
  const read = AsyncLocalStorage.bind(() => reader.read());
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await Promise.race([read(), died]);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}

/** Creates the state of an object's process. An ended process can't change anything. */
function createState(
  object: HostedObject,
  isAlive: () => boolean,
  onReady: (work: Promise<unknown>) => void,
): State {
  const { database } = object;
  let last: Promise<unknown> = Promise.resolve();
  const assertAlive = () => {
    if (!isAlive()) throw new Error("the process has ended");
  };
  const setAlarm = async (at: number | null) => {
    if (isAlive()) object.alarmAt = at;
  };
  return {
    id: object.name,
    storage: {
      getAlarm: async () => object.alarmAt,
      setAlarm,
      deleteAlarm: () => setAlarm(null),
      transaction(work) {
        const result = last.then(async () => {
          assertAlive();
          database.exec("SAVEPOINT own");
          try {
            const output = await work();
            assertAlive();
            database.exec("RELEASE own");
            return output;
          } catch (error) {
            if (database.isTransaction) database.exec("ROLLBACK TO own; RELEASE own");
            throw error;
          }
        });
        last = result.catch(() => {});
        return result;
      },
      sql: {
        exec(query, ...values) {
          assertAlive();
          const rows = database.prepare(query).all(...(values as SQLInputValue[])) as Record<
            string,
            unknown
          >[];
          return { toArray: () => rows };
        },
      },
    },
    blockConcurrencyWhile(work) {
      const done = work();
      onReady(done);
      return done;
    },
    waitUntil: (work) => void work.catch(() => {}),
  };
}
