import type { Host } from "@sluice/worker-proxy";
import { type BoundHost, ensure, type JSONValue, Refusal, waitAtMost } from "@sluice/worker-proxy/plugin";
import type { DurableObjectNamespace } from "./cloudflare-types.js";
import { type CloudflareHost, checkClass } from "./durable-object.js";
import { createObjectRequest, type ObjectAction, readReply } from "./object-messages.js";
import { refuseNested } from "./run-step.js";
import { createStorageError } from "./storage-error.js";
import { checkKey } from "./values.js";

export type { DurableObjectClass, DurableObjectNamespace } from "./cloudflare-types.js";
export { durableObject } from "./durable-object.js";

/** Maximum time for an operation with all attempts, in milliseconds. */
const MAX_RUN_MS = 10_000;
const ATTEMPTS = 4;
const PAUSE_MS = 100;

/**
 * Creates a host that stores the data of plugins in Durable Objects: one object for each user. `durableObject(proxy)`
 * makes their class.
 *
 * @param namespace returns the binding of the class from the environment
 * @example
 * ```ts
 * import { cloudflareHost, durableObject } from "@sluice/durable/cloudflare";
 * import { createProxy } from "@sluice/worker-proxy";
 *
 * const proxy = createProxy<Env>({ ...options, host: cloudflareHost((env) => env.SLUICE), plugins });
 * export default proxy;
 * export const Sluice = durableObject(proxy);
 * ```
 */
export function cloudflareHost<Env = unknown>(namespace: (env: Env) => DurableObjectNamespace): Host<Env> {
  ensure(typeof namespace === "function", "cloudflareHost: give the binding, (env) => env.SLUICE");
  const read = (env: Env): DurableObjectNamespace => {
    const found = namespace(env);
    if (!found) throw new Refusal("misconfigured", { problem: "cloudflareHost: its binding is missing" });
    return found;
  };
  const host: CloudflareHost<Env> = {
    namespace,
    checks: [read],
    open: () => (env) =>
      bindHost(() => {
        const found = read(env);
        checkClass(host, found, env);
        return found;
      }),
  };
  return host;
}

function bindHost(namespace: () => DurableObjectNamespace): BoundHost {
  return {
    async run(key, { name }, input) {
      refuseNested(`run "${name}"`);
      const done = retry(async () => readReply(await send(key, "run", name, input)));
      const finished = await waitAtMost(
        MAX_RUN_MS,
        done.then((output) => ({ output })),
      );
      if (!finished) throw createStorageError(`cloudflareHost: the object took over ${MAX_RUN_MS} ms`);
      return finished.output as never;
    },
    async start(key, { name }, input) {
      refuseNested(`start job "${name}"`);
      try {
        await readReply(await send(key, "start", name, input));
      } catch (error) {
        throw describeFailure(error);
      }
    },
    async open(key, { name }, input) {
      refuseNested(`open source "${name}"`);
      const response = await retry(() => send(key, "open", name, input));
      if (!response.ok || !response.body) {
        await readReply(response);
        throw new Error("the object sent no stream");
      }
      return response.body;
    },
  };

  function send(key: string, action: ObjectAction, name: string, input: JSONValue): Promise<Response> {
    const objects = namespace();
    // a new stub for each request, because a stub stays broken after its object failed
    const object = objects.get(objects.idFromName(checkKey(key)) as never);
    return object.fetch(createObjectRequest(action, { key, name, input }));
  }
}

/** Properties of errors that the platform throws, in contrast to errors of an operation. */
interface PlatformError {
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
  readonly durableObjectReset?: boolean;
}

/** Repeats work whose object ended during the work. Operations are safe to run twice. */
async function retry<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const { retryable, durableObjectReset, overloaded } = (error ?? {}) as PlatformError;
      const isRetryable = (retryable || durableObjectReset) && !overloaded;
      if (!isRetryable || attempt === ATTEMPTS) throw describeFailure(error);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** attempt * (0.5 + Math.random())));
    }
  }
}

function describeFailure(error: unknown): unknown {
  const { retryable, overloaded, durableObjectReset } = (error ?? {}) as PlatformError;
  return retryable || overloaded || durableObjectReset
    ? createStorageError("cloudflareHost: the object can't be reached", error)
    : error;
}
