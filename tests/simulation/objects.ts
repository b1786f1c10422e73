import type { DurableObjectClass, DurableObjectNamespace } from "@sluice/durable/cloudflare";
import { createNetwork, type NetworkFault } from "./network.js";
import { createObjectStorage, type SimulatedStorage } from "./object-storage.js";
import { getCurrentPage, openPage, type Page } from "./page.js";
import { BEGINNING } from "./platform.js";
import type { Random } from "./random.js";
import { handleInProcess } from "./server.js";
import type { Timeline } from "./timeline.js";

/** Faults of one call of an object. The platform ends a call without a response, so there is no `silent`. */
export const objectFaults = ["refused", "reset", "slow", "reset"] as const satisfies readonly NetworkFault[];

type Instance = InstanceType<DurableObjectClass<unknown>>;

/** Creates an object of the class in its process. */
type Create = (state: ConstructorParameters<DurableObjectClass<unknown>>[0], page: Page) => Instance;

interface SimulatedObject {
  readonly storage: SimulatedStorage;
  /** The object in memory; undefined until it is called. */
  instance?: { readonly page: Page; readonly object: Instance; readonly ready: Promise<unknown> } | undefined;
  isInAlarm: boolean;
}

/** Milliseconds after which an alarm that failed runs again. */
const ALARM_AGAIN_MS = 2000;

/**
 * Creates the Durable Objects of a Worker, which have one class. One object of a name is in memory at a time. A crash loses
 * the memory, the calls in flight and the writes that are not on the disk.
 *
 * @param onCrash receives the page of an object after its memory is lost
 */
export function createObjects(
  timeline: Timeline,
  random: Random,
  create: Create,
  onCrash: (page: Page) => void,
  log: (detail: string) => void,
) {
  const objects = new Map<string, SimulatedObject>();
  const now = () => Math.floor(BEGINNING + timeline.now());
  let started = 0;
  const network = createNetwork(timeline, random, serve, log);
  return {
    network,
    /** Makes the binding to the class. Its calls are part of the work with that purpose. */
    createBinding: (purpose: string): DurableObjectNamespace => ({
      idFromName: (name) => name,
      get: (id) => ({ fetch: network.createFetch(getCurrentPage() as Page, purpose, id) }),
    }),
    /** Returns the storages of the objects, by their names. */
    storages: () => [...objects].map(([name, { storage }]) => ({ name, storage })),
    /** Loses the memory of one object that has any, or of all. */
    crash(nth: number | "all"): void {
      const awake = [...objects].filter(([, { instance }]) => instance);
      for (const [name, object] of nth === "all"
        ? awake
        : awake.slice(nth % Math.max(awake.length, 1)).slice(0, 1)) {
        const page = object.instance?.page as Page;
        page.state = "gone";
        object.instance = undefined;
        object.storage.rollBack();
        if (object.isInAlarm) scheduleAgain(object);
        network.breakAll(({ to }) => to === name);
        network.drop(page);
        onCrash(page);
      }
    },
  };

  async function serve(request: Request, { to }: { readonly to: string }): Promise<Response> {
    const { page, object, ready } = wakeObject(to);
    const { storage } = getObject(to);
    return handleInProcess(page, request, async (own) => {
      await ready;
      // no event is delivered while a transaction is open
      await storage.idle();
      const response = await object.fetch(own);
      await storage.flushed();
      return response;
    });
  }

  function getObject(name: string): SimulatedObject {
    const known = objects.get(name);
    if (known) return known;
    const storage = createObjectStorage(timeline, random, now, () => void runAlarm(name));
    const object = { storage, isInAlarm: false };
    objects.set(name, object);
    return object;
  }

  function wakeObject(name: string): NonNullable<SimulatedObject["instance"]> {
    const known = getObject(name);
    if (known.instance) return known.instance;
    const page = openPage(timeline, -1, `${name.slice(0, 20)}#${++started}`);
    let ready: Promise<unknown> = Promise.resolve();
    const state = {
      id: name,
      storage: known.storage,
      waitUntil: (work: Promise<unknown>) => void work.catch(() => {}),
      blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T> {
        const done = work();
        ready = done;
        return done;
      },
    };
    const object = page.run(() => create(state, page));
    known.instance = { page, object, ready };
    return known.instance;
  }

  /** Runs an alarm. An alarm that fails runs again later. */
  async function runAlarm(name: string): Promise<void> {
    const known = getObject(name);
    const { page, object, ready } = wakeObject(name);
    known.storage.clearDueAlarm();
    known.isInAlarm = true;
    log(`alarm of ${page.name}`);
    await page.run(async () => {
      await ready;
      await known.storage.idle();
      await object.alarm().catch(() => scheduleAgain(known));
      known.isInAlarm = false;
    });
  }

  function scheduleAgain(object: SimulatedObject): void {
    object.isInAlarm = false;
    void object.storage.setAlarm(now() + ALARM_AGAIN_MS);
  }
}
