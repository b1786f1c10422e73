import type {
  DurableObjectClass,
  DurableObjectHandlers,
  ObjectNamespace,
  ObjectState,
} from "@sluice/durable";

/** Works of an object, by the names of its steps. */
export type Steps = Record<string, (state: ObjectState) => unknown>;

/** A class of objects that do what a test says. */
export function classOf(steps: Steps): DurableObjectClass<never> {
  return class implements DurableObjectHandlers {
    readonly state: ObjectState;
    constructor(state: ObjectState) {
      this.state = state;
      steps["open"]?.(state);
    }
    async fetch(request: Request) {
      const result = await steps[new URL(request.url).pathname.slice(1)]?.(this.state);
      return result instanceof Response ? result : Response.json(result ?? null);
    }
    async alarm() {
      await steps["alarm"]?.(this.state);
    }
  };
}

/** Asks an object for a step, and returns its answer. */
export async function tell(namespace: ObjectNamespace, step: string, name = "one"): Promise<unknown> {
  return (await ask(namespace, step, name)).json();
}

export function ask(namespace: ObjectNamespace, step: string, name = "one"): Promise<Response> {
  const object = namespace.get(namespace.idFromName(name) as never);
  return object.fetch(new Request(`https://thing.invalid/${step}`));
}

/** An object that counts. */
export const counting: Steps = {
  add({ storage: { sql } }) {
    sql.exec("CREATE TABLE IF NOT EXISTS counts (id INTEGER PRIMARY KEY, n INTEGER)");
    sql.exec("INSERT INTO counts VALUES (1, 1) ON CONFLICT DO UPDATE SET n = n + 1");
    return sql.exec("SELECT n FROM counts").toArray()[0]?.["n"];
  },
  read({ storage: { sql } }) {
    const has = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'counts'").toArray().length > 0;
    return has ? sql.exec("SELECT n FROM counts").toArray()[0]?.["n"] : 0;
  },
};
