import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DurableObjectClass, DurableObjectHandlers, ObjectState } from "@sluice/durable";
import { folderBucket } from "@sluice/durable/node";
import { openSQLiteKeeper } from "../../src/hosts/node/sqlite-keeper.js";
import { openPostgresKeeper } from "../../src/hosts/postgres/postgres-keeper.js";
import { openLiveObjects } from "../../src/hosts/process/live-objects.js";
import { env } from "./env-on-node.js";
import { newSchema, url } from "./postgres.js";

/*
 * The platform's own modules over objects in this process: the same tests run in workerd and on Node. Alarms run where a
 * test rings them, as there.
 */

type Work = (instance: DurableObjectHandlers, state: ObjectState) => unknown;

const RUN = "https://run.invalid/";
const works: { readonly work: Work; done: (result: unknown) => void; failed: (error: unknown) => void }[] =
  [];

/** The same class, which also does what a test asks for. */
function opened(ObjectClass: DurableObjectClass<never>): DurableObjectClass<never> {
  return class {
    readonly fetch: DurableObjectHandlers["fetch"];
    readonly alarm: DurableObjectHandlers["alarm"];
    constructor(state: ObjectState, env: never) {
      const instance = new ObjectClass(state, env);
      this.alarm = () => instance.alarm();
      this.fetch = async (request) => {
        if (request.url !== RUN) return instance.fetch(request);
        const next = works.shift();
        await Promise.resolve(next?.work(instance, state)).then(next?.done, next?.failed);
        return new Response();
      };
    }
  };
}

/** The Worker of the project, whose classes are opened here. */
const worker: Record<string, DurableObjectClass<never>> = await import(
  /* @vite-ignore */ process.env["SLUICE_WORKER"] ?? ""
);
const { default: _, ...exported } = worker;
const bindings = Object.entries(exported).map(([name, ObjectClass]) => {
  const binding = name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  return [binding, opened(ObjectClass)] as const;
});
// tests stop clocks: the lease must not end meanwhile
const inPostgres = { url, schema: newSchema(), address: "", leaseMs: 600_000 };
const keeper = url ? await openPostgresKeeper(inPostgres) : openSQLiteKeeper(":memory:");
const objects = openLiveObjects(keeper, Object.fromEntries(bindings), env as never);
for (const [binding] of bindings) {
  const namespace = objects.namespace(binding);
  const names = new Set<string>();
  env[binding] = {
    names,
    idFromName: (name: string) => name,
    get: (name: string) => ({
      binding,
      name,
      fetch(request: Request | string, init?: RequestInit) {
        names.add(name);
        return namespace.get(name as never).fetch(new Request(request, init));
      },
    }),
  };
}

const folder = mkdtempSync(join(tmpdir(), "sluice-buckets-"));
process.once("exit", () => rmSync(folder, { recursive: true }));
for (const binding of ["COUNTED_MEDIA", "FUZZED_MEDIA"]) env[binding] = folderBucket(join(folder, binding));

interface TestObject {
  readonly binding: string;
  readonly name: string;
  fetch(request: Request): Promise<Response>;
}

export function runInDurableObject(object: TestObject, work: Work): Promise<unknown> {
  return new Promise((done, failed) => {
    works.push({ work, done, failed });
    object.fetch(new Request(RUN)).catch(failed);
  });
}

export async function runDurableObjectAlarm(object: TestObject): Promise<boolean> {
  return (await runInDurableObject(object, async (instance, { storage }) => {
    if ((await storage.getAlarm()) === null) return false;
    await storage.deleteAlarm();
    await instance.alarm();
    return true;
  })) as boolean;
}

export const evictDurableObject = (object: TestObject) => objects.drop(object);

/** The names of all objects of a class that were ever asked. */
export async function listDurableObjectIds({
  names,
}: {
  names: ReadonlySet<string>;
}): Promise<readonly string[]> {
  return [...names];
}
