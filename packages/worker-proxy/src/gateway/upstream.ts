import type { Limits, ProxyOptions, Timeout } from "../api/options.js";
import type { Meter } from "../api/plugin.js";
import { createReader, ensure } from "../refusals/read-option.js";
import { refuseSetup } from "../refusals/refusal.js";
import type { GatewayConnection } from "./request.js";

const LIMITS = { maxBodyBytes: 33_554_432, maxDataURIBytes: 20_971_520, maxStreamsPerUser: 16 };
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: 60_000, totalMs: 900_000 };

/** @throws {TypeError} when an option can't work; the message says what to give */
export function createUpstream<Env>(
  options: Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch" | "limits" | "timeout">,
  meter: Meter<Env> | undefined,
) {
  const { fetch: given } = options;
  const limits: typeof LIMITS & Limits = { ...LIMITS, ...options.limits };
  const timeout: Required<Timeout> = { ...TIMEOUT, ...options.timeout };
  checkNumbers("limits", limits, { ...LIMITS, maxTokens: 0 });
  checkNumbers("timeout", timeout, TIMEOUT);
  const readBaseURL = createReader<Env, string>("baseURL", options.baseURL, checkBaseURL);
  const readKeys = createReader<Env, readonly string[]>("apiKey", options.apiKey, checkKeys);
  const taken = {};
  return { limits, timeout, meter, readBaseURL, readKeys, open };

  /**
   * Reads the way for the requests of one environment.
   *
   * @param host the own host, to which nothing is sent
   * @throws {Refusal} 500 `misconfigured`; the log names the option, without its value
   */
  async function open(env: Env, host: string): Promise<GatewayConnection> {
    const [baseURL, apiKeys] = await Promise.all([readBaseURL(env), readKeys(env)]);
    // it would send requests to itself without end; `checkBaseURL` has written protocol, nothing, host
    if (baseURL.split("/", 3)[2] === host) throw refuseSetup("baseURL: is the proxy's own address");
    // the platform's own `fetch` needs no object for a request
    const send: GatewayConnection["send"] = async (url, init) =>
      given ? given(new Request(url, init), env) : fetch(url, init);
    return { baseURL, apiKeys, taken, send, headersMs: timeout.firstChunkMs };
  }
}

/** @throws {TypeError} for an unknown name, and for a value that is not a number: every comparison with it is false */
function checkNumbers(subject: string, given: object, known: object): void {
  for (const [name, value] of Object.entries(given)) {
    ensure(name in known, `${subject}.${name}: is no option of createProxy`);
    ensure(Number.isSafeInteger(value) && value > 0, `${subject}.${name}: give a whole number from 1 up`);
  }
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
