import type { AdmittedRequest, Meter, OnJobEvent, ProxyOptions, ProxyPlugin } from "@sluice/worker-proxy";
import { ensure, hashOf, markKept, openWay, readBinding } from "@sluice/worker-proxy/internal";
import {
  askObject,
  CALLER,
  classOf,
  type DurableObjectClass,
  type ObjectNamespace,
  objectNamed,
  REPLAYED,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { idsIn, withUserIndex } from "../objects/user-index.js";
import { EXPORT, openUserObjects } from "../objects/user-objects.js";
import { openOnce } from "./object.js";
import { type Create, type ExportedCreate, MOST_BYTES } from "./setup.js";

/** Options of {@link onceObject}: the way to the gateway, as `createProxy` takes it, the meter, and a size. */
export interface OnceOptions<Env = unknown>
  extends Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits" | "timeout"> {
  /**
   * The binding to this class itself. The objects of a user are listed in one more object, by which `eraseUser` and
   * `exportUser` find them. A create that can't be listed is refused before it is sent.
   */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  /**
   * The proxy's meter: the object reserves and settles in the proxy's place, once for each key. Without it a proxy that
   * has a meter answers 500.
   * @default none
   */
  readonly meter?: Meter<Env> | undefined;
  /**
   * Size of the largest answer that is kept, in bytes. A larger one reaches the requests that wait for it; later ones get
   * 502 `answer_not_kept`, and nothing is sent.
   * @default 16_777_216
   */
  readonly answerBytes?: number;
  /**
   * Receives one event of kind `create` at the end of each create that is sent, with the id of its request. It also
   * comes where the object is lost meanwhile, unless the storage fails.
   * @default none
   */
  readonly onEvent?: OnJobEvent<Env> | undefined;
}

/**
 * Makes the class of Durable Objects that each remember one create: an image, a video, an asset or an epsilon task, by its
 * user and `idempotency-key`. An object sends one request to the gateway, also when its clients leave, and gives the same
 * answer to all requests with the key for a day. A request that was lost with its object is never sent again.
 *
 * The object calls the gateway itself: give it the `baseURL`, `apiKey`, `fetch`, `limits` and `meter` of the proxy.
 *
 * @throws {TypeError} when an option is missing or can't work
 * @example
 * ```ts
 * const gateway = { baseURL: "https://gateway.example.com", apiKey: (env: Env) => env.GATEWAY_API_KEY };
 * export const Once = onceObject<Env>({ ...gateway, meter, namespace: (env) => env.ONCE });
 * ```
 */
export function onceObject<Env = unknown>(options: OnceOptions<Env>): DurableObjectClass<Env> {
  const { answerBytes = 16 * 1024 * 1024, namespace, onEvent, ...gateway } = options;
  ensure(typeof namespace === "function", "namespace: give the binding to this class, (env) => env.ONCE");
  if (!Number.isSafeInteger(answerBytes) || answerBytes < 1)
    throw new TypeError("answerBytes: give a whole number from 1 up");
  const setup = { way: openWay(gateway), namespace, answerBytes, onEvent };
  return classOf((state, env) => withUserIndex(state, () => openOnce(state, env, setup)));
}

/** Most bytes of the answers in one export: further answers are in it without their text. */
const EXPORTED_BYTES = 4 * 1024 * 1024;

/** The groups of routes whose requests are remembered: all that create something. */
const CREATES = ["images", "videos", "assets", "epsilon"];

/**
 * Answers a create that is repeated with the same `idempotency-key` from memory, by an {@link onceObject}: nothing is paid
 * twice, and no answer is lost. `@sluice/core` then repeats creates by itself. Each key has an object of its own, found by
 * its user and the key: the work for a create stays the same however many are stored, and one that crashes takes no
 * other along.
 *
 * @param namespace the binding to the class that `onceObject` made
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, plugins: [once((env) => env.ONCE)] });
 * ```
 */
export function once<Env = unknown>(namespace: (env: Env) => ObjectNamespace | undefined): ProxyPlugin<Env> {
  const bound = (env: Env) => readBinding("once", namespace, env);
  return {
    checks: [bound],
    offers: Object.fromEntries([...CREATES, "health"].map((route) => [route, "once"])),
    routes: [],
    userData: { name: "creates", eraseUser, exportUser },
    send(admitted, isMetered) {
      const key = admitted.request.headers.get("idempotency-key");
      // with an id it is a poll or a lookup, which costs nothing
      const isCreate = CREATES.includes(admitted.route) && admitted.id === undefined;
      return isCreate && key !== null ? send(admitted, key, isMetered) : undefined;
    },
  };

  async function send(admitted: AdmittedRequest<Env>, key: string, isMetered: boolean): Promise<Response> {
    const { env, request, user, route, path, model, body, headers = {} } = admitted;
    if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw objectRefusal("idempotency_key_invalid");
    const id = await hashOf(`${user.id}\n${key}`);
    const known = model !== undefined && { model };
    const create: Create = { id, user, route, path, isMetered, headers, ...known };
    const name = `${await hashOf(user.id)}:${id}`;
    const init = {
      method: "POST",
      headers: { [CALLER]: encodeURIComponent(JSON.stringify(create)) },
      body: JSON.stringify(body),
      signal: request.signal,
    };
    const object = objectNamed(await bound(env), name);
    const answer = await askObject(object, new Request("https://once.invalid/", init));
    return markKept(answer, { isReplayed: answer.headers.has(REPLAYED) });
  }
  /** A create that comes after it with an old key is new: to know the key, something of the user would have to stay. */
  async function eraseUser(env: Env, userId: string): Promise<void> {
    await (await openUserObjects(await bound(env), userId)).erase();
  }

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    const { index, ask } = await openUserObjects(await bound(env), userId);
    const creates: ExportedCreate[] = [];
    let left = EXPORTED_BYTES;
    for await (const id of idsIn(index)) {
      const answer = await ask(id, EXPORT, { [MOST_BYTES]: String(left) });
      const create = (await answer.json()) as ExportedCreate | null;
      if (create) creates.push(create);
      if (create?.answer !== undefined) left -= create.bytes ?? 0;
    }
    return creates;
  }
}
