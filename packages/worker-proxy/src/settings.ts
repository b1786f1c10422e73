import type { Host } from "./api/host.js";
import type { Caps, Limits, ProxyOptions, Timeout } from "./api/options.js";
import type { ProxyPlugin, User } from "./api/plugin.js";
import type { RouteGroup } from "./api/routes.js";
import { createRules, type FindRules, hasField } from "./checks/fields.js";
import { belongsTo } from "./checks/models.js";
import type { Route } from "./checks/path.js";
import { createStreamCount } from "./checks/streams.js";
import { createUpstream } from "./gateway/upstream.js";
import { createLines } from "./refusals/log.js";
import { createReader, ensure } from "./refusals/read-option.js";
import { textChat } from "./routes/chat.js";
import type { PluginRun } from "./run-plugins.js";

const isFunction = (value: unknown) => typeof value === "function";
const isOptional = (value: unknown) => value === undefined || isFunction(value);
const isObject = (value: unknown) => typeof value === "object" && value !== null;
/** The value may come from the environment, so its reader checks it. */
const isRead = () => true;

function isListOf(value: unknown, isEntry: (entry: unknown) => unknown): value is unknown[] {
  return Array.isArray(value) && value.every(isEntry);
}

const isPath = (path: unknown) => /^[a-z_]\w*(?:\.\w+)*$/i.test(path as string);
const isGroup = (group: unknown) => (group as RouteGroup)?.paths;

type OptionRow = readonly [isValid: (value: never) => unknown, words: string];

const addRows = (names: string, ...row: OptionRow) =>
  Object.fromEntries(names.split(" ").map((name) => [name, row]));

/** A test for the value of each option, and words for what to give. TypeScript checks the rest. */
const OPTIONS: Readonly<Record<string, OptionRow>> = {
  ...addRows("baseURL origins credentials models", isRead, ""),
  ...addRows("secret rateLimit fetch", isOptional, "a function"),
  ...addRows("limits timeout gateway", isObject, "an object"),
  apiKey: [isFunction, "a function, (env) => env.GATEWAY_API_KEY"],
  authenticate: [
    (value) => value === "public" || isFunction(value),
    'a function that says who asks, or "public" if everybody may spend',
  ],
  allowFields: [(value) => isListOf(value, isPath), 'names or paths of fields, ["n", "extra_body.top_k"]'],
  routes: [(value) => isListOf(value, isGroup) && value[0], "some of chat, images, videos, assets, epsilon"],
  mediaURLs: [
    (value) => ["public", "any"].includes(value) || isFunction(value),
    '"public", "any" or a function',
  ],
  basePath: [(value) => /^(?:\/[\w-]+)*$/.test(value), '"" or a path like "/api"'],
  // a plugin that is not called would do nothing
  plugins: [(value) => isListOf(value, isObject), "a list, [budget(…)]"],
  host: [
    (value) => !value || isFunction((value as Host).open),
    "what cloudflareHost(…) or nodeHost(…) returns",
  ],
};

const LIMITS = { maxBodyBytes: 33_554_432, maxDataURIBytes: 20_971_520, maxStreamsPerUser: 16 };
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: 60_000, totalMs: 900_000 };

const USUAL = {
  ...{ routes: [textChat], plugins: [], allowFields: [] },
  ...{ basePath: "", mediaURLs: "public", limits: {}, timeout: {}, gateway: {} },
} as const satisfies Partial<ProxyOptions>;

/** The options with their defaults, and with each check that needs no request done. */
export type Settings<Env = never> = ReturnType<typeof checkOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  for (const name of Object.keys(given)) ensure(name in OPTIONS, `${name}: is no option of createProxy`);
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const options = { ...USUAL, ...(Object.fromEntries(said) as typeof USUAL & ProxyOptions<Env>) };
  for (const [name, [isValid, words]] of Object.entries(OPTIONS))
    ensure(isValid(options[name as keyof typeof options] as never), `${name}: give ${words}`);
  const { apiKey, authenticate, secret, gateway, routes, allowFields, mediaURLs } = options;
  const plugins: readonly ProxyPlugin<Env>[] = options.plugins;
  const isPublic = authenticate === "public";
  const limits: typeof LIMITS & Limits = checkNumbers("limits", LIMITS, options.limits, "maxTokens");
  const timeout: Required<Timeout> = checkNumbers("timeout", TIMEOUT, options.timeout);
  const open = plugins.find((plugin) => plugin.run)?.run as OpenPlugins<Env> | undefined;
  ensure(
    open || plugins.length === 0,
    "plugins: make each by definePlugin({ … }) of @sluice/worker-proxy/plugin",
  );
  const run = open?.(plugins);
  const own = routes.flatMap((group) =>
    group.paths(gateway).map((path) => ({ ...path, name: group.name, group })),
  );
  const table: readonly Route[] = [...own, ...(run?.createRoutes(routes) ?? [])];
  const owned = table.find(({ ids }) => ids)?.name;
  ensure(isPublic || secret || !owned, `secret: ${owned} needs one, which keeps users apart`);
  const findRules = createRules(allowFields);
  return {
    ...options,
    ...createUpstream(options, timeout.firstChunkMs),
    table,
    limits,
    timeout,
    run,
    mediaURLs: run?.allowURLs(mediaURLs) ?? mediaURLs,
    findRules,
    isPublic,
    /** Undefined without a meter: nothing reads the usage of streams. */
    asksUsage: run?.meter ? gateway.includeUsage : false,
    /** Undefined where all callers are one user, and where a plugin bounds the streams. */
    countStream:
      isPublic || run?.boundsStreams
        ? undefined
        : createStreamCount(limits.maxStreamsPerUser, timeout.totalMs),
    log: { apiKey, secret, lines: createLines() },
    readOrigins: createReader<Env, readonly string[]>("origins", given.origins, checkOrigins),
    readModels: createReader<Env, ReadonlyMap<string, Caps>>("models", given.models, (value) =>
      checkModels(value, routes, findRules),
    ),
    readSecrets: secret ? createReader<Env, readonly string[]>("secret", secret, checkSecrets) : () => [],
  };
}

/** The code that runs plugins, which comes with each of them. */
type OpenPlugins<Env> = (plugins: readonly ProxyPlugin<Env>[]) => PluginRun<Env>;

/** @throws {TypeError} for an unknown name, and for a value that is not a number: every comparison with it is false */
function checkNumbers<Numbers extends object>(
  subject: string,
  usual: Numbers,
  given: object,
  more = "",
): Numbers {
  for (const [name, value] of Object.entries(given)) {
    ensure(name in usual || name === more, `${subject}.${name}: is no option of createProxy`);
    ensure(Number.isSafeInteger(value) && value > 0, `${subject}.${name}: give a whole number from 1 up`);
  }
  return { ...usual, ...given };
}

function checkOrigins(given: unknown): readonly string[] {
  ensure(
    isListOf(given, (text: unknown) => typeof text === "string" && URL.parse(text)?.origin === text),
    'origins: give exact origins, ["https://app.example.com"], without a path or wildcard',
  );
  return given as readonly string[];
}

function checkModels(
  given: unknown,
  routes: readonly RouteGroup[],
  findRules: FindRules,
): ReadonlyMap<string, Caps> {
  const entries: [string, Caps][] = Array.isArray(given)
    ? given.map((id) => [id, {}])
    : Object.entries((isObject(given) ? given : {}) as Readonly<Record<string, Caps>>);
  ensure(
    entries.length > 0 && entries.every(([id]) => typeof id === "string" && id !== ""),
    'models: give the ids that may be asked, ["delta-5.3"]',
  );
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) {
      // a cap on a field that is never found would never hold
      const groups = routes.filter(({ name }) => belongsTo(id, name));
      const isField = groups.length === 0 || groups.some((group) => hasField(findRules(group, id), field));
      ensure(isField, `models: ${id}: ${field}: is no field of this model; correct it, or see allowFields`);
      const isCap = Array.isArray(cap) ? cap.length > 0 : Number.isSafeInteger(cap) && Number(cap) >= 0;
      ensure(isCap, `models: ${id}: ${field}: give the most, or a list of what is allowed`);
    }
  return new Map(entries);
}

function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  ensure(
    secrets.length > 0 && isListOf(secrets, (text: unknown) => typeof text === "string" && text.length >= 32),
    "secret: give at least 32 random characters; is the secret set?",
  );
  return secrets as readonly string[];
}

/** Serves a request of the operator's own code for a user, who does not have to sign in. */
export type ServeAs<Env> = (request: Request, user: User, env: Env) => Promise<Response>;

/** A proxy, as its own code and its plugins reach it. */
export interface Registered<Env> {
  readonly settings: Settings<Env>;
  readonly serveAs: ServeAs<Env>;
}

/** All proxies. */
export const proxies = new WeakMap<object, Registered<never>>();
