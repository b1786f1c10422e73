import type { GatewayConnection } from "../api/host.js";
import type { ProxyOptions } from "../api/options.js";
import { checkTexts, createReader, ensure } from "../refusals/read-option.js";
import { refuseSetup } from "../refusals/refusal.js";

/**
 * Creates the connection to the gateway from the options of the proxy.
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 */
export function createUpstream<Env>(
  { baseURL, apiKey, fetch: given }: Pick<ProxyOptions<Env>, "baseURL" | "apiKey" | "fetch">,
  headersMs: number,
) {
  const readBaseURL = createReader<Env, string>("baseURL", baseURL, checkBaseURL);
  const readKeys = createReader<Env, readonly string[]>("apiKey", apiKey, checkKeys);
  // the key that the gateway accepted last, for all requests
  const taken = {};
  return { readKeys, connect };

  /**
   * Reads the address and the keys of the gateway for the requests of one environment.
   *
   * @param host the own host, to which nothing is sent
   * @throws {Refusal} 500 `misconfigured`; the log names the option, without its value
   */
  async function connect(env: Env, host = ""): Promise<GatewayConnection> {
    const [baseURL, apiKeys] = await Promise.all([readBaseURL(env), readKeys(env)]);
    // requests of the proxy to itself would never end; a checked URL splits into protocol, nothing and host
    if (baseURL.split("/", 3)[2] === host) throw refuseSetup("baseURL: is the proxy's own address");
    // the platform's own `fetch` needs no object for a request
    const send: GatewayConnection["send"] = async (url, init) =>
      given ? given(new Request(url, init), env) : fetch(url, init);
    return { baseURL, apiKeys, taken, send, headersMs };
  }
}

function checkBaseURL(given: unknown): string {
  const url = URL.parse(String(given));
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
  const advice = 'Give one key, or two while they are changed, without quotes, spaces and "Bearer"';
  const isKey = (key: string) => KEY.test(key);
  return checkTexts([given].flat(), isKey, `apiKey: is the secret set? ${advice}`, 1, 2);
}
