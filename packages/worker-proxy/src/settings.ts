import type { RouteName } from "./admitted.js";
import { ensure, readOption } from "./env.js";
import type { Caps } from "./gates/fields.js";
import { budgetRoute, type CountStream, createStreamCount } from "./gates/limits.js";
import { belongsTo, createTables, type FieldsOf, hasField, routeOf } from "./gates/models.js";
import { type Route, tableOf } from "./gates/path.js";
import type { PollMemo } from "./gateway/polls.js";
import { createAdvisor } from "./log.js";
import type { Limits, ProxyOptions } from "./options.js";
import type { Refusal } from "./refusal.js";

/** Options that may be left out, and have no default. */
type Optional = "onEvent" | "secret" | "rateLimit" | "meter" | "upstreamHeaders";

/** The options with their defaults, and with what can be checked without a request checked. */
export interface Settings<Env = never>
  extends Required<Omit<ProxyOptions<Env>, Optional | "limits" | "assetLookup" | "routes" | "allowFields">>,
    Pick<ProxyOptions<Env>, Optional> {
  readonly limits: Required<Omit<Limits, "stallMs" | "maxTokens">> & Limits;
  readonly table: readonly Route[];
  /** Answers of polls, for those that follow. */
  readonly pollMemo: PollMemo;
  /** Bounds the streams of a user. */
  readonly countStream: CountStream;
  readonly fieldsOf: FieldsOf;
  /** Logs what an operator may have forgotten, once. */
  readonly advise: (refusal: Refusal) => void;
}

const ROUTES: readonly RouteName[] = ["chat", "images", "videos", "assets", "epsilon", "health", "budget"];

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(options: ProxyOptions<Env>): Settings<Env> {
  const { authenticate, apiKey, secret, baseURL, origins, models, assetLookup } = options;
  const { basePath = "", routes = ["chat"], extensions = [], media = "public" } = options;
  const { allowFields = [], credentials = false, upstreamHeaders } = options;
  ensure(
    typeof authenticate === "function" || authenticate === "public",
    'authenticate: give a function that says who is asking; or "public", if everybody may spend',
  );
  ensure(typeof apiKey === "function", "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  ensure(
    secret === undefined || typeof secret === "function",
    "secret: give a function, (env) => env.PROXY_SECRET",
  );
  if (typeof baseURL !== "function") checkBaseURL(baseURL);
  if (typeof origins !== "function") checkOrigins(origins);
  checkFields(allowFields);
  const fieldsOf = createTables(allowFields);
  if (typeof models !== "function") checkModels(models, fieldsOf);
  ensure(/^(?:\/[\w-]+)*$/.test(basePath), 'basePath: give "" or a path like "/api"');
  ensure(
    routes.length > 0 && routes.every((name) => ROUTES.includes(name)),
    `routes: give some of ${ROUTES.join(", ")}`,
  );
  const budgets = options.meter && budgetRoute(options.meter);
  ensure(
    budgets || !routes.includes("budget"),
    "routes: budget needs a `meter` that can be read, such as budget(…) of /durable",
  );
  ensure(
    authenticate === "public" ||
      secret ||
      !routes.some((name) => ["videos", "assets", "epsilon"].includes(name)),
    "secret: videos, assets and epsilon need one, so that nobody can use another user's",
  );
  ensure(
    assetLookup === undefined || /^(?:\/[\w-]+)+$/.test(assetLookup),
    'assetLookup: give a path like "/gamma/asset/GetAsset"',
  );
  ensure(
    media === "public" || media === "any" || typeof media === "function",
    'media: give "public", "any" or a function of the address',
  );
  ensure(
    upstreamHeaders === undefined || typeof upstreamHeaders === "function",
    'upstreamHeaders: give a function, (admitted) => ({ "x-name": "value" })',
  );
  const limits = checkedLimits(options.limits ?? {});
  return {
    ...options,
    basePath,
    fieldsOf,
    table: tableOf(routes, assetLookup, budgets ? [...extensions, budgets] : extensions),
    advise: createAdvisor(),
    extensions,
    media,
    credentials,
    limits,
    pollMemo: { polls: new Map(), characters: 0 },
    countStream:
      authenticate === "public" ? () => () => {} : createStreamCount(limits.streamsPerUser, limits.totalMs),
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
    totalMs: 900_000,
    pollMemoMs: 1000,
    streamsPerUser: 16,
    dataURIBytes: 20 * 1024 * 1024,
    ...given,
  };
  for (const [name, value] of Object.entries(limits)) {
    const least = name === "pollMemoMs" ? 0 : 1;
    ensure(
      Number.isSafeInteger(value) && value >= least,
      `limits.${name}: give a whole number from ${least} up`,
    );
  }
  return limits;
}

/** What depends on the environment, for one request. Checked like the rest, but told to nobody outside. */
export interface Setup {
  readonly baseURL: string;
  /** The one in use, and the one that follows it. */
  readonly apiKeys: readonly string[];
  /** What no answer may hold: the keys, and keys in further headers. */
  readonly guarded: readonly string[];
  readonly secrets: readonly string[];
  readonly models: ReadonlyMap<string, Caps>;
}

/** @throws {Refusal} 500 `misconfigured`; the log names what is wrong, without any value */
export async function setupOf<Env>(settings: Settings<Env>, env: Env, host: string): Promise<Setup> {
  const [baseURL, apiKeys, secrets, models] = await Promise.all(partsOf(settings, env, host));
  return { baseURL, apiKeys, guarded: apiKeys, secrets, models };
}

/** What a setup is made of. Each part fails for itself. */
function partsOf<Env>(settings: Settings<Env>, env: Env, host: string) {
  const { baseURL, apiKey, secret, models, fieldsOf } = settings;
  return [
    readOption("baseURL", baseURL, env, (given) => otherThan(host, checkBaseURL(given))),
    readOption("apiKey", apiKey, env, checkKeys),
    secret ? readOption("secret", secret, env, checkSecrets) : [],
    readOption("models", models, env, (given) => checkModels(given, fieldsOf)),
  ] as const;
}

/** @throws {Refusal} 500 `misconfigured` */
export function originsOf<Env>(settings: Settings<Env>, env: Env): Promise<readonly string[]> {
  return readOption("origins", settings.origins, env, checkOrigins);
}

/** Everything that is missing or wrong in this environment: an error for each. Nothing is asked outside. */
export async function problemsOf<Env>(
  settings: Settings<Env>,
  env: Env,
  host: string,
): Promise<readonly unknown[]> {
  const { authenticate, rateLimit, meter, extensions } = settings;
  const checked = [authenticate === "public" ? undefined : authenticate, rateLimit, meter, ...extensions];
  const checks = checked.flatMap((part) => part?.checks ?? []).map(async (check) => check(env));
  const parts = [...partsOf(settings, env, host), originsOf(settings, env), ...checks];
  const results = await Promise.allSettled<unknown>(parts);
  return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
}

/** The keys and secrets of this environment, as far as they can be read: what a log must not show. */
export async function secretsOf<Env>(
  { apiKey, secret }: Settings<Env>,
  env: Env,
): Promise<readonly string[]> {
  const given = await Promise.allSettled([apiKey, secret].map(async (read) => read?.(env)));
  return given.flatMap((read) => (read.status === "fulfilled" && read.value ? read.value : []));
}

function checkBaseURL(baseURL: unknown): string {
  ensure(typeof baseURL === "string" && URL.canParse(baseURL), "baseURL: is no URL");
  const { protocol, hostname, username, password, origin, pathname } = new URL(baseURL);
  const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
  ensure(protocol === "https:" || (protocol === "http:" && isLocal), "baseURL: must be https");
  ensure(
    !username && !password && !/[?#]/.test(baseURL),
    "baseURL: must have no name, password, query or fragment",
  );
  return origin + pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** A proxy that asks itself would never end. */
function otherThan(host: string, baseURL: string): string {
  ensure(new URL(baseURL).host !== host, "baseURL: is the proxy's own address");
  return baseURL;
}

function checkOrigins(origins: unknown): readonly string[] {
  const isOrigin = (origin: unknown) =>
    typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin;
  ensure(
    Array.isArray(origins) && origins.every(isOrigin),
    'origins: give exact origins, ["https://app.example.com"], without a path or a wildcard',
  );
  return origins;
}

function checkFields(allowed: readonly unknown[]): void {
  ensure(
    Array.isArray(allowed) &&
      allowed.every((path) => typeof path === "string" && /^\w+(?:\.\w+)*$/.test(path)),
    'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]',
  );
}

function checkModels(models: unknown, fieldsOf: FieldsOf): ReadonlyMap<string, Caps> {
  const entries: [string, Caps][] = Array.isArray(models)
    ? models.map((id) => [id, {}])
    : Object.entries((models ?? {}) as Record<string, Caps>);
  ensure(
    entries.length > 0 && entries.every(([id]) => typeof id === "string" && id !== ""),
    'models: give the ids of the models that may be asked, ["delta-5.3"]',
  );
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) {
      // one that is never found would never hold
      ensure(
        ROUTES.some((name) =>
          // any field is one of epsilon, so that a model has to be known as such
          name === "epsilon"
            ? routeOf(id) === name
            : belongsTo(id, name) && hasField(fieldsOf(name, id), field),
        ),
        `models: ${id}: ${field}: is no field of this model; correct it, or add it to allowFields`,
      );
      ensure(
        typeof cap === "number"
          ? Number.isSafeInteger(cap) && cap >= 0
          : Array.isArray(cap) && cap.length > 0,
        `models: ${id}: ${field}: give the most, or a list of what is allowed`,
      );
    }
  return new Map(entries);
}

function checkKeys(given: unknown): readonly string[] {
  const keys = textsIn(given, 1);
  ensure(
    keys && keys.length < 3,
    "apiKey: is empty; is the secret set? Give one key, or two while they are changed",
  );
  for (const key of keys)
    ensure(
      /^[\x21-\x7e]+$/.test(key) && !/["'`]|^bearer/i.test(key),
      'apiKey: has a quote, a space, a line break or "Bearer" in it',
    );
  return keys;
}

function checkSecrets(given: unknown): readonly string[] {
  const secrets = textsIn(given, 32);
  ensure(secrets, "secret: give at least 32 random characters; is the secret set?");
  return secrets;
}

/** A text or a list of texts, as a list; undefined if there is none, or one is shorter than `length`. */
function textsIn(given: unknown, length: number): readonly string[] | undefined {
  const texts: unknown = typeof given === "string" ? [given] : given;
  const isLong = (text: unknown) => typeof text === "string" && text.length >= length;
  return Array.isArray(texts) && texts.length > 0 && texts.every(isLong) ? texts : undefined;
}
