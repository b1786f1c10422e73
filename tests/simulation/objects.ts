import type { DurableObjectHandlers, ObjectNamespace, ObjectState } from "@sluice/durable";
import { createNetwork, type NetworkFault } from "./network.js";
import { createObjectStorage, type SimulatedStorage } from "./object-storage.js";
import { getCurrentPage, openPage, type Page } from "./page.js";
import { BEGINNING } from "./platform.js";
import type { Random } from "./random.js";
import { serveIn } from "./server.js";
import type { Timeline } from "./timeline.js";

/** Faults of one call of an object. The platform ends a call without a response, so there is no `silent`. */
export const objectFaults = ["refused", "reset", "slow", "reset"] as const satisfies readonly NetworkFault[];

/** Creates an object of a class. */
type Create = (state: ObjectState, page: Page) => DurableObjectHandlers;

interface SimulatedObject {
  readonly storage: SimulatedStorage;
  /** The object in memory; undefined until it is called. */
  instance?: Instance | undefined;
  isInAlarm: boolean;
}

interface Instance {
  readonly page: Page;
  readonly handlers: DurableObjectHandlers;
  readonly ready: Promise<unknown>;
}

/** Milliseconds after which an alarm that failed runs again. */
const ALARM_AGAIN_MS = 2000;

/**
 * Creates the Durable Objects of a Worker. One object of a name is in memory at a time. A crash loses the memory, the
 * calls in flight and the writes that are not on the disk.
 *
 * @param classes the classes, by the name of their binding
 * @param onCrash gets the page of an object whose memory is lost
 */
export function createObjects<Name extends string>(
  timeline: Timeline,
  random: Random,
  classes: Readonly<Record<Name, Create>>,
  onCrash: (page: Page) => void,
  log: (detail: string) => void,
) {
  const objects = new Map<string, SimulatedObject>();
  const now = () => Math.floor(BEGINNING + timeline.now());
  let started = 0;
  const network = createNetwork(timeline, random, serve, log);
  return {
    network,
    /** Makes the binding to a class. Its calls are part of the work with that purpose. */
    bindingOf: (className: Name, purpose: string): ObjectNamespace => ({
      idFromName: (name) => `${className}/${name}`,
      get: (id) => ({ fetch: network.fetchOf(getCurrentPage() as Page, purpose, id) }),
    }),
    /** Returns the storages of a class, by the full names of their objects. */
    storagesOf: (className: Name) =>
      [...objects]
        .filter(([name]) => name.startsWith(`${className}/`))
        .map(([name, { storage }]) => ({ name, storage })),
    /** Loses the memory of one object that has any. */
    crash(nth: number): void {
      const awake = [...objects].filter(([, { instance }]) => instance);
      for (const [name, object] of awake.slice(nth % Math.max(awake.length, 1)).slice(0, 1)) {
        const { page } = object.instance as Instance;
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
    const { page, handlers, ready } = wakeObject(to);
    const { storage } = getObject(to);
    return serveIn(page, request, async (own) => {
      await ready;
      const response = await handlers.fetch(own);
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

  function wakeObject(name: string): Instance {
    const object = getObject(name);
    if (object.instance) return object.instance;
    const page = openPage(timeline, -1, `${name.slice(0, 20)}#${++started}`);
    let ready: Promise<unknown> = Promise.resolve();
    const state: ObjectState = {
      storage: object.storage,
      waitUntil: () => {},
      blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T> {
        const done = work();
        ready = done;
        return done;
      },
    };
    const create = classes[name.slice(0, name.indexOf("/")) as Name];
    const handlers = page.run(() => create(state, page));
    object.instance = { page, handlers, ready };
    return object.instance;
  }

  /** Runs an alarm; again if it fails or its object crashes. */
  async function runAlarm(name: string): Promise<void> {
    const object = getObject(name);
    const { page, handlers, ready } = wakeObject(name);
    object.storage.takeAlarm();
    object.isInAlarm = true;
    log(`alarm of ${page.name}`);
    await page.run(async () => {
      await ready;
      await handlers.alarm().catch(() => scheduleAgain(object));
      object.isInAlarm = false;
    });
  }

  function scheduleAgain(object: SimulatedObject): void {
    object.isInAlarm = false;
    void object.storage.setAlarm(now() + ALARM_AGAIN_MS);
  }
}
