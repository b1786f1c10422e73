import { createKeyInUse } from "./gateway/key-in-use.js";
import type { Gateway } from "./gateway/request.js";
import type { ProxyOptions } from "./options.js";
import { ensure, readerOf } from "./read-option.js";
import { misconfigured } from "./refusals/refusal.js";
import { createRepeats } from "./refusals/repeats.js";

/** The limits that have a default. */
const LIMITS = {
  bodyBytes: 33_554_432,
  bodyMs: 30_000,
  headersMs: 600_000,
  totalMs: 900_000,
  pollMemoMs: 1000,
  streamsPerUser: 16,
  dataURIBytes: 20_971_520,
};

/** The options of all that ask the gateway: a proxy, and the objects of `@sluice/durable` that keep its answers. */
export type WayOptions<Env> = Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits" | "meter">;

/** The way to the gateway. */
export type Way<Env = never> = ReturnType<typeof openWay<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function openWay<Env>({ baseURL, apiKey, fetch: given, limits: set, meter }: WayOptions<Env>) {
  ensure(typeof apiKey === "function", "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  const isFetch = given === undefined || typeof given === "function";
  ensure(isFetch, "fetch: give a function, (request, env) => …");
  const isMeter = !meter || typeof meter.reserve === "function";
  ensure(isMeter, "meter: give budget(…) of @sluice/durable, or a meter of your own");
  const limits = { ...LIMITS, ...set };
  // a limit that is no number would be none: every comparison with it is false
  for (const [name, value] of Object.entries(limits)) {
    const least = name === "pollMemoMs" ? 0 : 1;
    const isLimit = Number.isSafeInteger(value) && value >= least;
    ensure(isLimit, `limits.${name}: give a whole number from ${least} up`);
  }
  const addressIn = readerOf("baseURL", baseURL, checkBaseURL);
  const keysIn = readerOf("apiKey", apiKey, checkKeys);
  const keyInUse = createKeyInUse();
  return {
    limits,
    meter,
    /** The part of the log that knows the key. */
    log: { apiKey, repeats: createRepeats() },
    parts,
    open,
  };

  /** Reads address and keys. One that fails does not stop the other. */
  function parts(env: Env, host: string) {
    return [foreign(addressIn(env), host), keysIn(env)] as const;
  }

  /**
   * Reads the way for the requests of one environment.
   *
   * @param host the own host, to which nothing is sent
   * @throws {Refusal} 500 `misconfigured`; the log names what is wrong, without any value
   */
  async function open(env: Env, host: string): Promise<Gateway> {
    const [baseURL, apiKeys] = await Promise.all(parts(env, host));
    // the platform's own `fetch` needs no object for a request
    const send: Gateway["send"] = (url, init) =>
      given ? given(new Request(url, init), env) : fetch(url, init);
    return { baseURL, apiKeys, keyInUse, send, headersMs: limits.headersMs };
  }
}

/** Refuses the host of the proxy, which would send requests to itself without end. */
async function foreign(given: string | Promise<string>, host: string): Promise<string> {
  const baseURL = await given;
  // as `checkBaseURL` writes it: protocol, nothing, host
  if (baseURL.split("/", 3)[2] === host) throw misconfigured("baseURL: is the proxy's own address");
  return baseURL;
}

function checkBaseURL(given: unknown): string {
  const url = typeof given === "string" && URL.parse(given);
  ensure(url, "baseURL: is no URL; give the gateway's address, https://gateway.example.com");
  const { protocol, hostname, origin, username, password, pathname, href } = url;
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLocal);
  const isPlain = !username && !password && !/[?#]/.test(href);
  ensure(isSafe && isPlain, "baseURL: must be https, without a name, password, query or fragment");
  return origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}

const KEY = /^(?!bearer)(?:(?!["'`])[\x21-\x7e])+$/i;

function checkKeys(given: unknown): readonly string[] {
  const keys: readonly unknown[] = [given].flat();
  const isKey = (key: unknown) => typeof key === "string" && KEY.test(key);
  ensure(
    keys.length > 0 && keys.length < 3 && keys.every(isKey),
    'apiKey: is the secret set? Give one key, or two while they are changed, without quotes, spaces and "Bearer"',
  );
  return keys as readonly string[];
}
