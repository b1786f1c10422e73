import type { User } from "./admitted.js";
import { createTables, type FieldsOf, hasField, routeOf } from "./gates/field-table.js";
import { tableOf } from "./gates/path.js";
import { createStreamCount } from "./gates/streams.js";
import { createKeyInUse } from "./gateway/key-in-use.js";
import type { Flights, Polled } from "./gateway/polls.js";
import type { Gateway } from "./gateway/request.js";
import type { Caps, ProxyOptions } from "./options.js";
import { ensure, readOption } from "./read-option.js";
import { misconfigured } from "./refusals/refusal.js";
import { createRepeats } from "./refusals/repeats.js";
import { groupsWith } from "./route-lists.js";
import { type RouteName, routeGroups } from "./routes.js";

/** The groups that an operator can open. */
const ROUTES = Object.keys(routeGroups).filter((name) => name !== "media");
/** The groups whose ids belong to one user. */
const OWNED = groupsWith("ids");

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

type Check = (value: unknown) => boolean;
const isFunction: Check = (value) => typeof value === "function";
const isText = (value: unknown, form: RegExp) => typeof value === "string" && form.test(value);
const isList = (value: unknown, holds: Check, least = 1): value is string[] =>
  Array.isArray(value) && value.length >= least && value.every(holds);

/** The options that are functions, with one of each as its error shows it. */
const functions = {
  secret: "(env) => env.PROXY_SECRET",
  rateLimit: "workersRateLimit((env) => env.RATE_LIMITER)",
  upstreamHeaders: '(admitted) => ({ "x-name": "value" })',
  onEvent: "(event, env) => …",
  fetch: "(request, env) => …",
} satisfies { readonly [Name in keyof ProxyOptions]?: string };

/** The options with their defaults, and with what can be checked without a request checked. */
export type Settings<Env = never> = ReturnType<typeof checkedOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  const { authenticate, apiKey, secret, baseURL, origins, models, assetLookup, meter } = given;
  const { basePath = "", extensions = [], media = "public", allowFields = [], credentials = false } = given;
  const routes: readonly RouteName[] = given.routes ?? ["chat"];
  const isDoor = authenticate === "public" || isFunction(authenticate);
  ensure(isDoor, 'authenticate: give a function that says who asks, or "public" if everybody may spend');
  ensure(isFunction(apiKey), "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  for (const [name, example] of Object.entries(functions)) {
    const value = given[name as keyof typeof functions];
    ensure(value === undefined || isFunction(value), `${name}: give a function, ${example}`);
  }
  ensure(
    !meter || isFunction(meter.reserve),
    "meter: give budget(…) of @sluice/durable, or a meter of your own",
  );
  ensure(Array.isArray(extensions), "extensions: give a list, [streamLog(…)]");
  ensure(isText(basePath, /^(?:\/[\w-]+)*$/), 'basePath: give "" or a path like "/api"');
  const isLookup = assetLookup === undefined || isText(assetLookup, /^(?:\/[\w-]+)+$/);
  ensure(isLookup, 'assetLookup: give a path like "/gamma/asset/GetAsset"');
  const areRoutes = isList(routes, (name) => ROUTES.some((route) => route === name));
  ensure(areRoutes, `routes: give some of ${ROUTES.join(", ")}`);
  const isMedia = media === "public" || media === "any" || isFunction(media);
  ensure(isMedia, 'media: give "public", "any" or a function of the address');
  const areFields = isList(allowFields, (path) => isText(path, /^\w+(?:\.\w+)*$/), 0);
  ensure(areFields, 'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]');

  const fieldsOf = createTables(allowFields);
  const offersHealth = extensions.some(({ offers }) => offers?.health);
  const added = [...extensions, ...(meter ? [meter] : [])].flatMap((part) => part.routes ?? []);
  const read = {
    baseURL: readerOf("baseURL", baseURL, checkBaseURL),
    origins: readerOf("origins", origins, checkOrigins),
    models: readerOf("models", models, (value) => checkModels(value, fieldsOf)),
    apiKeys: readerOf("apiKey", apiKey, checkKeys),
    secrets: secret ? readerOf("secret", secret, checkSecrets) : () => [],
  };
  const hasBudget = !routes.includes("budget") || added.some(({ name }) => name === "budget");
  ensure(hasBudget, "routes: budget needs a `meter` that can be read, as budget()");
  if (routes.includes("admin")) {
    const isServed = added.some(({ name }) => name === "admin");
    ensure(isServed, "routes: admin needs `admin(…)` of /operator among the `extensions`");
    ensure(authenticate !== "public", 'routes: admin can\'t be open with authenticate: "public"');
  }
  const keepsApart = authenticate === "public" || secret || !routes.some((name) => OWNED.includes(name));
  ensure(keepsApart, `secret: ${OWNED.join(", ")} need one, which keeps users apart`);
  const limits = { ...LIMITS, ...given.limits };
  // a limit that is no number would be none: every comparison with it is false
  for (const [name, value] of Object.entries(limits)) {
    const least = name === "pollMemoMs" ? 0 : 1;
    const isLimit = Number.isSafeInteger(value) && value >= least;
    ensure(isLimit, `limits.${name}: give a whole number from ${least} up`);
  }
  return {
    ...given,
    basePath,
    extensions,
    media,
    credentials,
    read,
    limits,
    fieldsOf,
    // clients read there what is offered, after an answer was lost
    table: tableOf(offersHealth ? [...routes, "health"] : routes, assetLookup, added),
    keyInUse: createKeyInUse(),
    /** Polls in flight, and their answers for a moment. */
    polls: new Map() as Flights<Polled>,
    /** Lines about options that an operator may have forgotten, each of which is logged once. */
    advised: new Set<string>(),
    repeats: createRepeats(),
    /** Bounds the streams of a user. */
    countStream:
      authenticate === "public" ? () => () => {} : createStreamCount(limits.streamsPerUser, limits.totalMs),
    /** Sends a request: the platform's own `fetch` needs no object for it. */
    send: (url: string, init: RequestInit, env: Env) =>
      given.fetch ? given.fetch(new Request(url, init), env) : fetch(url, init),
  };
}

/** The part of the setup that depends on the environment. Its problems are in the log, and in no answer. */
export type Setup = Awaited<ReturnType<typeof setupOf>>;

/** @throws {Refusal} 500 `misconfigured`; the log names what is wrong, without any value */
export async function setupOf<Env>(settings: Settings<Env>, env: Env, host: string, user?: User) {
  const [baseURL, apiKeys, secrets, models] = await Promise.all(partsOf(settings, env, host));
  const isTenant = user && secrets.length > 0;
  const tenancy = isTenant ? (await import("./gates/ids.js")).tenancyOf(secrets, user) : undefined;
  const { keyInUse, send, limits } = settings;
  const gateway: Gateway = {
    baseURL,
    apiKeys,
    keyInUse,
    send: (url, init) => send(url, init, env),
    headersMs: limits.headersMs,
  };
  return {
    gateway,
    models,
    /** The marks of this user's ids; undefined without a `secret`. */
    tenancy,
  };
}

/** Reads the parts of a setup. One that fails does not stop the others. */
export function partsOf<Env>({ read }: Settings<Env>, env: Env, host: string) {
  return [foreign(read.baseURL(env), host), read.apiKeys(env), read.secrets(env), read.models(env)] as const;
}

/** Refuses the host of the proxy, which would send requests to itself without end. */
async function foreign(given: string | Promise<string>, host: string): Promise<string> {
  const baseURL = await given;
  // as `checkBaseURL` writes it: protocol, nothing, host
  if (baseURL.split("/", 3)[2] === host) throw misconfigured("baseURL: is the proxy's own address");
  return baseURL;
}

/** Makes the reader of an option. A value is checked at once, the result of a function for each request. */
function readerOf<Env, T>(
  name: string,
  given: unknown,
  check: (value: unknown) => T,
): (env: Env) => T | Promise<T> {
  if (typeof given === "function")
    return (env) => readOption(name, given as (env: Env) => unknown, env, check);
  const value = check(given);
  return () => value;
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

function checkOrigins(given: unknown): readonly string[] {
  const isOrigin = (text: unknown) => typeof text === "string" && URL.parse(text)?.origin === text;
  const words = 'origins: give exact origins, ["https://app.example.com"], without a path or wildcard';
  ensure(isList(given, isOrigin, 0), words);
  return given;
}

function checkModels(given: unknown, fieldsOf: FieldsOf): ReadonlyMap<string, Caps> {
  const entries = Array.isArray(given)
    ? given.map((id): [string, Caps] => [id, {}])
    : Object.entries((given ?? {}) as Readonly<Record<string, Caps>>);
  const areModels =
    typeof given !== "string" && entries.length > 0 && entries.every(([id]) => isText(id, /./s));
  ensure(areModels, 'models: give the ids that may be asked, ["delta-5.3"]');
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) {
      // a cap on a field that is never found would never hold
      const known = routeOf(id);
      const isField = (known ? [known] : groupsWith("isTabled")).some((name) =>
        hasField(fieldsOf(name, id), field),
      );
      ensure(isField, `models: ${id}: ${field}: is no field of this model; correct it, or see allowFields`);
      const isCap = Array.isArray(cap) ? cap.length > 0 : Number.isSafeInteger(cap) && Number(cap) >= 0;
      ensure(isCap, `models: ${id}: ${field}: give the most, or a list of what is allowed`);
    }
  return new Map(entries);
}

function checkKeys(given: unknown): readonly string[] {
  const keys = [given].flat();
  ensure(
    isList(keys, (key) => isText(key, /^(?!bearer)(?:(?!["'`])[\x21-\x7e])+$/i)) && keys.length < 3,
    'apiKey: is the secret set? Give one key, or two while they are changed, without quotes, spaces and "Bearer"',
  );
  return keys;
}

function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong = isList(secrets, (secret) => isText(secret, /^.{32}/s));
  ensure(areLong, "secret: give at least 32 random characters; is the secret set?");
  return secrets;
}
