import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import type {
  DurableObjectClass,
  DurableObjectHandlers,
  ObjectNamespace,
  ObjectState,
} from "@sluice/durable";

/** One object: its rows outlast its process. Alarms do not ring by themselves. */
interface HostedObject {
  readonly database: DatabaseSync;
  alarmAt: number | null;
  process?: HostedProcess | undefined;
}

interface HostedProcess {
  readonly handlers: DurableObjectHandlers;
  readonly died: Promise<never>;
}

/** Runs the objects of a class in this process, with their data in memory. */
export function createObjectHost<Env>(Kind: DurableObjectClass<Env>, env: Env) {
  const objects = new Map<string, HostedObject>();
  let kill: () => void = () => {};
  let died = createLife();
  const namespace: ObjectNamespace = {
    idFromName: (name) => name,
    get: (name: string) => ({
      async fetch(request: Request) {
        const { handlers, died } = getProcess(getObject(name));
        return Promise.race([handlers.fetch(request), died]);
      },
    }),
  };
  return {
    namespace,
    /** Ends the process of all objects: their waits never end, and their actions have no effect. */
    kill(): void {
      for (const object of objects.values()) object.process = undefined;
      kill();
      died = createLife();
    },
  };

  function createLife(): Promise<never> {
    const life = new Promise<never>((_, reject) => {
      kill = () => reject(new Error("the object was lost"));
    });
    life.catch(() => {});
    return life;
  }

  function getObject(name: string): HostedObject {
    const object = objects.get(name) ?? { database: new DatabaseSync(":memory:"), alarmAt: null };
    objects.set(name, object);
    return object;
  }

  function getProcess(object: HostedObject): HostedProcess {
    if (object.process) return object.process;
    let isNew = true;
    // an object may read its rows while it is made
    const isAlive = () => isNew || object.process === process;
    const process: HostedProcess = { handlers: new Kind(stateOf(object, isAlive), env), died };
    object.process = process;
    isNew = false;
    return process;
  }
}

/** The state of an object's process. An ended process can't change anything. */
function stateOf(object: HostedObject, isAlive: () => boolean): ObjectState {
  const run = (query: string, bindings: readonly unknown[] = []) => {
    if (!isAlive()) throw new Error("the process has ended");
    return object.database.prepare(query).all(...(bindings as SQLInputValue[])) as Record<string, unknown>[];
  };
  const setAlarm = async (at: number | null) => {
    if (isAlive()) object.alarmAt = at;
  };
  return {
    storage: {
      get: async () => undefined,
      put: async () => {},
      getAlarm: async () => object.alarmAt,
      setAlarm,
      deleteAlarm: () => setAlarm(null),
      sync: async () => {},
      async deleteAll() {
        for (const { name } of run("SELECT name FROM sqlite_master WHERE type = 'table'"))
          run(`DROP TABLE ${name}`);
        object.alarmAt = null;
      },
      sql: {
        exec(query, ...bindings) {
          const rows = run(query, bindings);
          return { toArray: () => rows };
        },
      },
    },
    blockConcurrencyWhile: (work) => work(),
    waitUntil: () => {},
  };
}
