import type { Limits, ProxyOptions, Timeout } from "../api/options.js";
import type { Meter } from "../api/plugin.js";
import { ensure, readerOf } from "../refusals/read-option.js";
import { misconfigured } from "../refusals/refusal.js";
import { createRepeats } from "../refusals/repeats.js";
import { CHUNK_MS } from "./read-json.js";
import type { Gateway } from "./request.js";

const LIMITS = { maxBodyBytes: 33_554_432, maxDataURIBytes: 20_971_520, maxStreamsPerUser: 16 };
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: CHUNK_MS, totalMs: 900_000 };

/** The options of all that ask the gateway: a proxy, and the objects of `@sluice/durable` that keep its answers. */
export interface WayOptions<Env>
  extends Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits" | "timeout"> {
  /** The plugin that reserves. */
  readonly meter?: Meter<Env> | undefined;
}

/** The way to the gateway. */
export type Way<Env = never> = ReturnType<typeof openWay<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function openWay<Env>(options: WayOptions<Env>) {
  const { baseURL, apiKey, fetch: given, meter } = options;
  ensure(typeof apiKey === "function", "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  const isFetch = given === undefined || typeof given === "function";
  ensure(isFetch, "fetch: give a function, (request, env) => …");
  const limits: typeof LIMITS & Limits = { ...LIMITS, ...options.limits };
  const timeout: Required<Timeout> = { ...TIMEOUT, ...options.timeout };
  checkNumbers("limits", limits, [...Object.keys(LIMITS), "maxTokens"]);
  checkNumbers("timeout", timeout, Object.keys(TIMEOUT));
  const addressIn = readerOf("baseURL", baseURL, checkBaseURL);
  const keysIn = readerOf("apiKey", apiKey, checkKeys);
  const taken = {};
  return {
    limits,
    timeout,
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
    const send: Gateway["send"] = async (url, init) =>
      given ? given(new Request(url, init), env) : fetch(url, init);
    return { baseURL, apiKeys, taken, send, headersMs: timeout.firstChunkMs };
  }
}

/** @throws {TypeError} for a name that is not known, and for what is no number: every comparison with it would be false */
function checkNumbers(subject: string, given: object, names: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    ensure(names.includes(name), `${subject}.${name}: is no option of createProxy`);
    const isLimit = Number.isSafeInteger(value) && value > 0;
    ensure(isLimit, `${subject}.${name}: give a whole number from 1 up`);
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
