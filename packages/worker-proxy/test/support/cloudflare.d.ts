/** Parts of the platform's own modules that the tests use; the platform's package of types would redefine what DOM's defines. */
interface TestObject {
  readonly fetch: (request: Request | string, init?: RequestInit) => Promise<Response>;
}

interface TestNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): TestObject;
}

/** Bindings of the Worker under test; a lab adds its own. */
interface TestBindings {
  readonly VIDEO_WATCH: TestNamespace;
  readonly BRISK_WATCH: TestNamespace;
  readonly BUDGET: TestNamespace;
  readonly STREAM_LOG: TestNamespace;
  readonly PAID_STREAM_LOG: TestNamespace;
  readonly BOUNDED_STREAM_LOG: TestNamespace;
  readonly FUZZED_STREAM_LOG: TestNamespace;
  readonly ONCE: TestNamespace;
  readonly PAID_ONCE: TestNamespace;
  readonly COUNTED_WATCH: TestNamespace;
  readonly COUNTED_INDEX: TestNamespace;
  readonly NOTICE_WATCH: TestNamespace;
  readonly COUNTED_MEDIA: object;
}

declare module "cloudflare:workers" {
  export const env: TestBindings;
}

declare module "cloudflare:test" {
  import type { DurableObjectHandlers, ObjectState, ObjectStorage } from "@sluice/durable";

  interface TestState extends ObjectState {
    readonly storage: ObjectStorage & { list(): Promise<Map<string, unknown>> };
  }
  export function runInDurableObject<T>(
    object: TestObject,
    work: (instance: DurableObjectHandlers, state: TestState) => T | Promise<T>,
  ): Promise<T>;
  export function listDurableObjectIds(namespace: TestNamespace): Promise<readonly unknown[]>;
  export function runDurableObjectAlarm(object: TestObject): Promise<boolean>;
  export function evictDurableObject(object: TestObject): Promise<void>;
}
