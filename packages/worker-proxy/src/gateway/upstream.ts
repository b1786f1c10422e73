import type { GatewayConnection } from "../api/host.js";
import type { ProxyOptions } from "../api/options.js";
import { checkTexts, createReader, ensure } from "../refusals/read-option.js";
import { refuseSetup } from "../refusals/refusal.js";

/**
 * Creates the connection to the gateway from the options of the proxy.
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 */
export function createUpstream<Env>(options: ProxyOptions<Env>, headersMs: number) {
  const readBaseURL = createReader<Env, string>("baseURL", options.baseURL, checkBaseURL);
  const readKeys = createReader<Env, readonly string[]>("apiKey", options.apiKey, checkKeys);
  // the key that the gateway accepted last, for all requests
  const accepted = {};
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
      options.fetch ? options.fetch(new Request(url, init), env) : fetch(url, init);
    return { baseURL, apiKeys, accepted, send, headersMs };
  }
}

/** An address as a parser writes it: https, or http on this machine, without a name, password, query or fragment. */
const BASE_URL = /^(?:https:\/\/[^/@]+|http:\/\/(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?)\/[^?#]*$/;

function checkBaseURL(given: unknown): string {
  const { href = "" } = URL.parse(String(given)) ?? {};
  const advice = "https://gateway.example.com, without a name, password, query or fragment";
  ensure(BASE_URL.test(href), `baseURL: give the gateway's address, ${advice}`);
  return href.replace(/\/+$/, "").replace(/\/v1$/, "");
}

const KEY = /^(?!bearer)(?:(?!["'`])[\x21-\x7e])+$/i;

function checkKeys(given: unknown): readonly string[] {
  const advice = 'Give one key, or two while they are changed, without quotes, spaces and "Bearer"';
  return checkTexts([given].flat(), (key) => KEY.test(key), `apiKey: is the secret set? ${advice}`, 1, 2);
}
