import type { ClientOptions } from "./client.js";
import { ConfigurationError } from "./types/errors.js";

/* Explains invalid options in development. Bundlers drop this code in production, except `BASE_URL` and `isBrowser`. */

/** An address without a user name, query or fragment, or a path on the page's server. */
export const BASE_URL = /^\s*(?:https?:\/\/[^\s/?#@]+(?:\/[^\s?#]*)?|\.{0,2}\/[^\s?#]*)\s*$/i;

/** @throws {ConfigurationError} that names the invalid option and its fix */
export function explainOptions(options: ClientOptions): void {
  explainBaseURL(options?.baseURL);
  const { apiKey, timeout, retry, user, dangerouslyAllowBrowser } = options;
  explainUser(user);
  if (apiKey !== undefined && isBrowser() && !dangerouslyAllowBrowser)
    throw new ConfigurationError(
      "apiKey: a key given in a browser can be read by every visitor. Let @sluice/worker-proxy add it and set " +
        "baseURL to the proxy; or, in a tool of your own, set dangerouslyAllowBrowser: true",
    );
  if ("apiKey" in options && typeof apiKey !== "function") explainKey(apiKey);
  explainTimes("timeout", timeout);
  explainTimes("retry", retry);
}

const ROUTE = /\/(?:v1\/(?:chat|images|video)\/\w+|gamma\/asset\/\w+|epsilon\/v1\/.+)$/;

function explainBaseURL(given: unknown): void {
  const fail = (
    problem: string,
    remedy = 'give the gateway\'s address, { baseURL: "https://gateway.example.com" }, or a path of the page\'s server, "/api"',
  ) => {
    throw new ConfigurationError(`baseURL: ${problem}; ${remedy}`);
  };
  const text = typeof given === "string" ? given.trim() : "";
  if (text === "") return fail("is missing");
  const baseURL = text.replace(/\/+$/, "");
  // a path is resolved at the first request, because a server can create the client
  const isPath = /^\.{0,2}\//.test(text);
  if (!(isPath || URL.canParse(baseURL))) return fail(`${JSON.stringify(given)} is not a URL`);
  // parsing takes longer than all other checks of a client
  if (!BASE_URL.test(text)) {
    const { protocol, username, password, search, hash } = new URL(baseURL, "https://page.invalid");
    if (!/^https?:$/.test(protocol)) return fail(`has the protocol ${protocol} instead of https:`);
    if (username || password) return fail("has a name or password; use headers");
    if (search || hash) return fail("has a query or a fragment");
  }
  if (ROUTE.test(baseURL))
    return fail(
      "ends with the path of one endpoint",
      `give what stands before it, ${baseURL.replace(ROUTE, "") || "/"}`,
    );
}

function explainUser(user: unknown): void {
  if (user === undefined || (typeof user === "string" && user !== "")) return;
  throw new ConfigurationError(
    `user: must be the id of the signed-in user, got ${JSON.stringify(user)}; leave it out for one user`,
  );
}

/** @throws {ConfigurationError} that explains an invalid key */
export function explainKey(key: unknown): void {
  const fail = (problem: string) => {
    throw new ConfigurationError(`apiKey: ${problem}`);
  };
  if (typeof key !== "string" || key === "")
    return fail(
      `is ${key === "" ? "empty" : typeof key}; is the environment variable set? Leave the option out if a proxy adds the key`,
    );
  if (/^bearer\s/i.test(key)) return fail('give the key alone: "Bearer " is added');
  if (!/^[\x21-\x7e]+$/.test(key)) return fail("has a space, a line break or a forbidden character");
}

function explainTimes(option: string, times: object | undefined): void {
  for (const [name, value] of Object.entries(times ?? {}))
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw new ConfigurationError(
        `${option}.${name}: must be a number from 0 up, got ${JSON.stringify(value)}`,
      );
}

/**
 * Returns true in a browser or its workers, whose user agent begins with "Mozilla". Those of Node, Deno, Bun and
 * workerd do not.
 */
export function isBrowser(): boolean {
  return /^Mozilla\//.test(globalThis.navigator?.userAgent ?? "");
}
