import type { Caps } from "./caps.js";
import type { Limits, ProxyOptions, RouteName } from "./options.js";
import { createAdvisor, misconfigured, type Refusal } from "./refusal.js";
import { type Route, tableOf } from "./routes.js";

type Optional = "limits" | "onEvent" | "secret" | "rateLimit" | "meter" | "assetLookup" | "routes";

/** The options with their defaults, and with what can be checked without a request checked. */
export interface Settings<Env = never> extends Required<Omit<ProxyOptions<Env>, Optional>> {
  readonly limits: Required<Omit<Limits, "totalMs" | "maxTokens">> & Limits;
  readonly onEvent: ProxyOptions<Env>["onEvent"] | undefined;
  readonly secret: ProxyOptions<Env>["secret"];
  readonly rateLimit: ProxyOptions<Env>["rateLimit"];
  readonly meter: ProxyOptions<Env>["meter"];
  readonly table: readonly Route[];
  /** Logs what an operator may have forgotten, once. */
  readonly advise: (refusal: Refusal) => void;
}

const ROUTES: readonly RouteName[] = ["chat", "images", "videos", "assets", "health"];

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(options: ProxyOptions<Env>): Settings<Env> {
  const { authenticate, apiKey, secret, baseURL, origins, models, assetLookup } = options;
  const { basePath = "", routes = ["chat"], extensions = [], media = "public" } = options;
  if (typeof authenticate !== "function" && authenticate !== "public")
    throw new TypeError(
      'authenticate: give a function that says who is asking; or "public", if everybody may spend',
    );
  if (typeof apiKey !== "function")
    throw new TypeError("apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  if (secret !== undefined && typeof secret !== "function")
    throw new TypeError("secret: give a function, (env) => env.PROXY_SECRET");
  if (typeof baseURL !== "function") checkBaseURL(baseURL);
  if (typeof origins !== "function") checkOrigins(origins);
  if (typeof models !== "function") checkModels(models);
  if (!/^(?:\/[\w-]+)*$/.test(basePath)) throw new TypeError('basePath: give "" or a path like "/api"');
  if (routes.length === 0 || !routes.every((name) => ROUTES.includes(name)))
    throw new TypeError(`routes: give some of ${ROUTES.join(", ")}`);
  if (authenticate !== "public" && !secret && routes.some((name) => name === "videos" || name === "assets"))
    throw new TypeError("secret: videos and assets need one, so that nobody can use another user's");
  if (assetLookup !== undefined && !/^(?:\/[\w-]+)+$/.test(assetLookup))
    throw new TypeError('assetLookup: give a path like "/gamma/asset/GetAsset"');
  if (media !== "public" && media !== "any" && typeof media !== "function")
    throw new TypeError('media: give "public", "any" or a function of the address');
  return {
    ...options,
    basePath,
    table: tableOf(routes, assetLookup, extensions),
    advise: createAdvisor(),
    extensions,
    media,
    multipart: options.multipart ?? false,
    credentials: options.credentials ?? false,
    limits: checkedLimits(options.limits ?? {}),
    onEvent: options.onEvent,
    secret,
    rateLimit: options.rateLimit,
    meter: options.meter,
    // called detached: the global fetch throws with another `this`
    fetch: options.fetch ?? ((request) => fetch(request)),
  };
}

/** A limit that is no number would be none: every comparison with it is false. */
function checkedLimits(given: Limits): Settings["limits"] {
  const limits = {
    bodyBytes: 32 * 1024 * 1024,
    bodyMs: 30_000,
    headersMs: 600_000,
    idleMs: 60_000,
    dataURIBytes: 20 * 1024 * 1024,
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
  /** The one in use, and the one that follows it. */
  readonly apiKeys: readonly string[];
  readonly secrets: readonly string[];
  readonly models: ReadonlyMap<string, Caps>;
}

/** @throws {Refusal} 500 `misconfigured`; what is wrong goes to the log, without any value */
export async function setupOf<Env>(settings: Settings<Env>, env: Env, host: string): Promise<Setup> {
  const baseURL = await resolve("baseURL", settings.baseURL, env, checkBaseURL);
  if (new URL(baseURL).host === host) throw misconfigured("baseURL: is the proxy's own address");
  return {
    baseURL,
    apiKeys: await resolve("apiKey", settings.apiKey, env, checkKeys),
    secrets: settings.secret ? await resolve("secret", settings.secret, env, checkSecrets) : [],
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

function checkModels(models: unknown): ReadonlyMap<string, Caps> {
  const entries: [string, Caps][] = Array.isArray(models)
    ? models.map((id) => [id, {}])
    : Object.entries((models ?? {}) as Record<string, Caps>);
  if (entries.length === 0 || !entries.every(([id]) => typeof id === "string" && id !== ""))
    throw new TypeError('models: give the ids of the models that may be asked, ["delta-5.3"]');
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) {
      // one that is never found would never hold
      if (!/^\w+(?:\.\w+)?$/.test(field))
        throw new TypeError(
          `models: ${id}: ${field}: give a field, or one in an object: "parameters.duration"`,
        );
      if (
        !(typeof cap === "number"
          ? Number.isSafeInteger(cap) && cap >= 0
          : Array.isArray(cap) && cap.length > 0)
      )
        throw new TypeError(`models: ${id}: ${field}: give the most, or a list of what is allowed`);
    }
  return new Map(entries);
}

function checkKeys(given: unknown): readonly string[] {
  const keys = typeof given === "string" ? [given] : given;
  if (
    !Array.isArray(keys) ||
    keys.length === 0 ||
    keys.length > 2 ||
    keys.some((key) => !key || typeof key !== "string")
  )
    throw new TypeError("apiKey: is empty; is the secret set? Give one key, or two while they are changed");
  for (const key of keys as string[])
    if (!/^[\x21-\x7e]+$/.test(key) || /["'`]/.test(key) || /^bearer/i.test(key))
      throw new TypeError('apiKey: has a quote, a space, a line break or "Bearer" in it');
  return keys;
}

function checkSecrets(given: unknown): readonly string[] {
  const secrets = typeof given === "string" ? [given] : given;
  if (
    !Array.isArray(secrets) ||
    secrets.length === 0 ||
    secrets.some((text) => typeof text !== "string" || text.length < 32)
  )
    throw new TypeError("secret: give at least 32 random characters; is the secret set?");
  return secrets;
}
