import type { ProxyEvent } from "./events.js";
import { misconfigured } from "./refusal.js";

/** A group of routes that can be switched on: those of the spec's part of the same name. */
export type RouteName = "chat" | "images" | "videos" | "assets";

/** Who a request comes from. */
export interface User {
  /** Stable, and not to be guessed from outside: for limits and logs. */
  readonly id: string;
}

/** What one request may cost at most. */
export interface Limits {
  /** The largest body, in bytes, counted as they are read. @default 33_554_432 (32 MB, for data URIs) */
  readonly bodyBytes?: number;
  /** How long a body may take to arrive, in milliseconds. @default 30_000 */
  readonly bodyMs?: number;
  /** How long the gateway may take to its headers, in milliseconds. @default 600_000: thinking takes minutes */
  readonly headersMs?: number;
  /** How long the gateway may be silent within an answer, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** The largest `max_tokens`; set where a chat request has none. @default none */
  readonly maxTokens?: number;
}

/** What `createProxy` takes. There is no default for what decides who may spend: it has to be said. */
export interface ProxyOptions<Env = unknown> {
  /** The gateway: https, or http on this machine. */
  readonly baseURL: string | ((env: Env) => string);
  /** The gateway's key, from a secret. Asked for each request. */
  readonly apiKey: (env: Env) => string | Promise<string>;
  /**
   * Who is asking; null for nobody, which is answered with 401. If it throws, the answer is 503 and nothing is
   * sent. `"public"` lets everybody spend: say it only where nobody else can reach the proxy.
   */
  readonly authenticate: ((request: Request, env: Env) => User | null | Promise<User | null>) | "public";
  /** The pages that may call from a browser, exactly as browsers name them: `https://app.example.com`. */
  readonly origins: readonly string[] | ((env: Env) => readonly string[]);
  /** The models that may be asked. */
  readonly models: readonly string[] | ((env: Env) => readonly string[]);
  /**
   * The routes that are open. Ids of tasks and assets are not bound to their user yet: whoever has one can use it,
   * so `videos` and `assets` are for proxies whose users trust each other. @default ["chat"]
   */
  readonly routes?: readonly RouteName[];
  /** What stands before the gateway's paths: `/api`. @default "" */
  readonly basePath?: string;
  readonly limits?: Limits;
  readonly onEvent?: (event: ProxyEvent, env: Env) => void;
  /** Another way to the gateway: a service binding, a test. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** The options with their defaults, and with what can be checked without a request checked. */
export type Settings<Env> = Required<Omit<ProxyOptions<Env>, "limits" | "onEvent">> & {
  readonly limits: Required<Limits>;
  readonly onEvent: ((event: ProxyEvent, env: Env) => void) | undefined;
};

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(options: ProxyOptions<Env>): Settings<Env> {
  const { authenticate, apiKey, baseURL, origins, models, basePath = "", routes = ["chat"] } = options;
  if (typeof authenticate !== "function" && authenticate !== "public")
    throw new TypeError(
      'authenticate: is missing. Give a function that says who is asking; or "public", if everybody may spend',
    );
  if (typeof apiKey !== "function")
    throw new TypeError("apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  if (typeof baseURL !== "function") checkBaseURL(baseURL);
  if (typeof origins !== "function") checkOrigins(origins);
  if (typeof models !== "function") checkModels(models);
  if (!/^(?:\/[\w-]+)*$/.test(basePath)) throw new TypeError('basePath: give "" or a path like "/api"');
  return {
    ...options,
    basePath,
    routes,
    limits: {
      bodyBytes: 32 * 1024 * 1024,
      bodyMs: 30_000,
      headersMs: 600_000,
      idleMs: 60_000,
      maxTokens: Number.POSITIVE_INFINITY,
      ...options.limits,
    },
    onEvent: options.onEvent,
    // called detached: the global fetch throws with another `this`
    fetch: options.fetch ?? ((request) => fetch(request)),
  };
}

/** What depends on the environment, for one request. Checked like the rest, but told to nobody outside. */
export interface Setup {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly models: readonly string[];
}

/** @throws {Refusal} 500 `misconfigured`; what is wrong goes to the log, without any value */
export async function setupOf<Env>(settings: Settings<Env>, env: Env, host: string): Promise<Setup> {
  try {
    const baseURL = checkBaseURL(call(settings.baseURL, env));
    if (new URL(baseURL).host === host) throw new TypeError("baseURL: is the proxy's own address");
    return {
      baseURL,
      apiKey: checkKey(await settings.apiKey(env)),
      models: checkModels(call(settings.models, env)),
    };
  } catch (error) {
    throw logged(error);
  }
}

/** @throws {Refusal} 500 `misconfigured` */
export function originsOf<Env>(settings: Settings<Env>, env: Env): readonly string[] {
  try {
    return checkOrigins(call(settings.origins, env));
  } catch (error) {
    throw logged(error);
  }
}

function logged(error: unknown): Error {
  // biome-ignore lint/suspicious/noConsole: a Worker's log is where its operator looks; checks never name a value
  console.error(
    `sluice proxy: ${error instanceof TypeError ? error.message : "an option's function failed"}`,
  );
  return misconfigured();
}

function call<T, Env>(value: T | ((env: Env) => T), env: Env): T {
  return typeof value === "function" ? (value as (env: Env) => T)(env) : value;
}

function checkBaseURL(baseURL: unknown): string {
  if (typeof baseURL !== "string" || !URL.canParse(baseURL)) throw new TypeError("baseURL: is no URL");
  const { protocol, hostname, username, password, search, hash } = new URL(baseURL);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal))
    throw new TypeError("baseURL: must be https, so that nobody on the way reads the key");
  if (username || password || search || hash)
    throw new TypeError("baseURL: must have no name, password, query or fragment");
  return baseURL.replace(/\/+$/, "").replace(/\/v1$/, "");
}

function checkOrigins(origins: unknown): readonly string[] {
  const isOrigin = (origin: unknown) =>
    typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin;
  if (!Array.isArray(origins) || !origins.every(isOrigin))
    throw new TypeError(
      'origins: give exact origins, ["https://app.example.com"], without a path or a wildcard',
    );
  return origins;
}

function checkModels(models: unknown): readonly string[] {
  if (
    !Array.isArray(models) ||
    models.length === 0 ||
    !models.every((id) => typeof id === "string" && id !== "")
  )
    throw new TypeError('models: give the ids of the models that may be asked, ["delta-5.3"]');
  return models;
}

function checkKey(key: unknown): string {
  if (typeof key !== "string" || key === "") throw new TypeError("apiKey: is empty; is the secret set?");
  if (!/^[\x21-\x7e]+$/.test(key) || /["'`]/.test(key) || /^bearer/i.test(key))
    throw new TypeError(
      'apiKey: has a quote, a space, a line break or a "Bearer" that does not belong to a key',
    );
  return key;
}
