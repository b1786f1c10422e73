import type { ObjectState } from "@sluice/durable";

/** A process that ends right before or after its n-th call of what it depends on. */
export const crash = {
  calls: 0,
  at: Infinity,
  process: 0,
  happens: () => {},
  /** The objects so far. */
  objects: new Set<Abortable>(),
  /** Has the process end at a call from now on, and another one begin after `happens`. */
  in(calls: number): Promise<void> {
    crash.calls = 0;
    crash.at = calls;
    return new Promise((resolve) => {
      crash.happens = () => {
        crash.at = Infinity;
        crash.process += 1;
        resolve();
        // the call may be of one of them, or of the Worker: then they are not in the middle of anything
        for (const object of crash.objects) abort(object);
      };
    });
  },
};

export interface Abortable {
  abort(reason: string): void;
}

function abort(object: Abortable): void {
  try {
    object.abort("lost");
  } catch {
    // the platform ends no object for another one
  }
}

/** A call, which never ends where its process does. */
export async function step<T>(call: () => Promise<T>): Promise<T> {
  const mine = crash.process;
  await passed(mine);
  const result = await call();
  await passed(mine);
  return result;
}

async function passed(mine: number): Promise<void> {
  if (mine === crash.process && ++crash.calls === crash.at) crash.happens();
  if (mine !== crash.process) await new Promise(() => {});
}

interface Synced {
  sync(): Promise<void>;
}

const WRITES: readonly PropertyKey[] = ["put", "setAlarm", "deleteAlarm", "deleteAll"];

/** The state of an object whose process may end at each write to its storage. */
export function crashable(state: ObjectState): ObjectState {
  crash.objects.add(state as ObjectState & Abortable);
  const kept = state.storage as ObjectState["storage"] & Synced;
  const storage = withMethods(kept, (name, method) =>
    WRITES.includes(name) ? (...given) => step(() => written(method, given)) : method,
  );

  /** Writes for good: what was only begun would be lost with the object, and so never be half of the work. */
  async function written(method: Method, given: unknown[]): Promise<unknown> {
    const result = await method(...given);
    await kept.sync();
    return result;
  }

  return new Proxy(state, {
    get(target, name) {
      if (name === "storage") return storage;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

type Method = (...given: unknown[]) => unknown;

function withMethods<T extends object>(target: T, change: (name: PropertyKey, method: Method) => Method): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? change(name, value.bind(target) as Method) : value;
    },
  });
}
