import type { ProxyEvent } from "./events.js";
import { misconfigured } from "./refusal.js";
import { routes as table } from "./routes.js";

/** A group of routes that can be switched on: those of the spec's part of the same name. */
export type RouteName = "chat" | "images" | "videos" | "assets";

/** Who a request comes from. */
export interface User {
  /** Stable, and not to be guessed from outside: for limits and logs. */
  readonly id: string;
}

/** The third thing a Worker is given; other hosts have none. */
export interface ProxyContext {
  waitUntil(promise: Promise<unknown>): void;
}

/** What one request may cost at most. */
export interface Limits {
  /**
   * The largest body, in bytes, counted as they are read. The default holds the spec's largest image, 20 MB, as a
   * data URI. A Worker has 128 MB of memory, and a body is in it as text and as an object: set it lower for chat.
   * @default 33_554_432
   */
  readonly bodyBytes?: number;
  /** How long a body may take to arrive, in milliseconds. @default 30_000 */
  readonly bodyMs?: number;
  /** How long the gateway may take to its headers, in milliseconds. @default 600_000: thinking takes minutes */
  readonly headersMs?: number;
  /** How long the gateway may be silent within an answer, in milliseconds. @default 60_000 */
  readonly idleMs?: number;
  /** How long an answer may take as a whole, in milliseconds. @default none */
  readonly totalMs?: number;
  /** The largest `max_tokens` of a chat, at most the model's own; set where a chat request has none. @default none */
  readonly maxTokens?: number;
}

/** What `createProxy` takes. There is no default for what decides who may spend: it has to be said. */
export interface ProxyOptions<Env = unknown> {
  /** The gateway, with or without `/v1`: https, or http on this machine. Never the proxy's own host. */
  readonly baseURL: string | ((env: Env) => string);
  /** The gateway's key, from a secret. Asked for each request. */
  readonly apiKey: (env: Env) => string | undefined | Promise<string | undefined>;
  /**
   * Who is asking; null for nobody, which is answered with 401. If it throws, the answer is 503 and nothing is
   * sent. It must leave the body unread. `"public"` lets everybody spend: say it only where nobody else can reach the proxy.
   */
  readonly authenticate: ((request: Request, env: Env) => User | null | Promise<User | null>) | "public";
  /** The pages that may call from a browser, exactly as browsers name them: `https://app.example.com`. */
  readonly origins: readonly string[] | ((env: Env) => readonly string[]);
  /** Whether those pages may send cookies along. @default false */
  readonly credentials?: boolean;
  /** The models that may be asked, as the spec writes them. */
  readonly models: readonly string[] | ((env: Env) => readonly string[]);
  /**
   * The routes that are open. Ids of tasks and assets are not bound to their user yet: whoever has one can use it,
   * so `videos` and `assets` are for proxies whose users trust each other. @default ["chat"]
   */
  readonly routes?: readonly RouteName[];
  /** What stands before the gateway's paths: `/api`. @default "" */
  readonly basePath?: string;
  readonly limits?: Limits;
  /** For logs and meters. What it throws is dropped: a broken log must not break an answer. */
  readonly onEvent?: (event: ProxyEvent, env: Env, context: ProxyContext | undefined) => void;
  /** Another way to the gateway: a service binding, a test. It must not follow redirects. @default the global `fetch` */
  readonly fetch?: (request: Request, env: Env) => Promise<Response>;
}

type Optional = "limits" | "onEvent";

/** The options with their defaults, and with what can be checked without a request checked. */
export interface Settings<Env> extends Required<Omit<ProxyOptions<Env>, Optional>> {
  readonly limits: Required<Omit<Limits, "totalMs" | "maxTokens">> & Limits;
  readonly onEvent: ProxyOptions<Env>["onEvent"] | undefined;
}

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(options: ProxyOptions<Env>): Settings<Env> {
  const { authenticate, apiKey, baseURL, origins, models, basePath = "", routes = ["chat"] } = options;
  if (typeof authenticate !== "function" && authenticate !== "public")
    throw new TypeError(
      'authenticate: give a function that says who is asking; or "public", if everybody may spend',
    );
  if (typeof apiKey !== "function")
    throw new TypeError("apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  if (typeof baseURL !== "function") checkBaseURL(baseURL);
  if (typeof origins !== "function") checkOrigins(origins);
  if (typeof models !== "function") checkModels(models);
  if (!/^(?:\/[\w-]+)*$/.test(basePath)) throw new TypeError('basePath: give "" or a path like "/api"');
  if (routes.length === 0 || !routes.every((name) => table.some((route) => route.name === name)))
    throw new TypeError('routes: give some of "chat", "images", "videos", "assets"');
  return {
    ...options,
    basePath,
    routes,
    credentials: options.credentials ?? false,
    limits: checkedLimits(options.limits ?? {}),
    onEvent: options.onEvent,
    // called detached: the global fetch throws with another `this`
    fetch: options.fetch ?? ((request) => fetch(request)),
  };
}

/** A limit that is no number would be none: every comparison with it is false. */
function checkedLimits(given: Limits): Settings<unknown>["limits"] {
  const limits = {
    bodyBytes: 32 * 1024 * 1024,
    bodyMs: 30_000,
    headersMs: 600_000,
    idleMs: 60_000,
    ...given,
  };
  for (const [name, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`limits.${name}: give a whole number from 1 up`);
  return limits;
}

/** What depends on the environment, for one request. Checked like the rest, but told to nobody outside. */
export interface Setup {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly models: readonly string[];
}

/** @throws {Refusal} 500 `misconfigured`; what is wrong goes to the log, without any value */
export async function setupOf<Env>(settings: Settings<Env>, env: Env, host: string): Promise<Setup> {
  const baseURL = await resolve("baseURL", settings.baseURL, env, checkBaseURL);
  if (new URL(baseURL).host === host) throw misconfigured("baseURL: is the proxy's own address");
  return {
    baseURL,
    apiKey: await resolve("apiKey", settings.apiKey, env, checkKey),
    models: await resolve("models", settings.models, env, checkModels),
  };
}

/** @throws {Refusal} 500 `misconfigured` */
export function originsOf<Env>(settings: Settings<Env>, env: Env): Promise<readonly string[]> {
  return resolve("origins", settings.origins, env, checkOrigins);
}

async function resolve<Env, T>(
  name: string,
  given: unknown,
  env: Env,
  check: (value: unknown) => T,
): Promise<T> {
  let value: unknown;
  try {
    value = await (typeof given === "function" ? given(env) : given);
  } catch {
    // what it threw is not ours, and may hold the value
    throw misconfigured(`${name}: its function threw`);
  }
  try {
    return check(value);
  } catch (error) {
    throw misconfigured((error as TypeError).message);
  }
}

function checkBaseURL(baseURL: unknown): string {
  if (typeof baseURL !== "string" || !URL.canParse(baseURL)) throw new TypeError("baseURL: is no URL");
  const { protocol, hostname, username, password, origin, pathname } = new URL(baseURL);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal))
    throw new TypeError("baseURL: must be https");
  if (username || password || /[?#]/.test(baseURL))
    throw new TypeError("baseURL: must have no name, password, query or fragment");
  return origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
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
    throw new TypeError('apiKey: has a quote, a space, a line break or "Bearer" in it');
  return key;
}
