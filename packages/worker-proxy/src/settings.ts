import type { Log, PluginServer } from "./api/host.js";
import type { Caps, Limits, ProxyOptions, Timeout } from "./api/options.js";
import type { ListedModels, RouteGroup } from "./api/routes.js";
import { createCount } from "./checks/count.js";
import { findRules, hasField, isList, readRules } from "./checks/fields.js";
import { belongsTo } from "./checks/models.js";
import type { OpenGroup, Route } from "./checks/path.js";
import { createUpstream } from "./gateway/upstream.js";
import { checkTexts, createReader, ensure } from "./refusals/read-option.js";
import { textChat } from "./routes/chat.js";
import type { PluginRun } from "./run-plugins.js";

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const isPath = (path: string) => /^[a-z_]\w*(?:\.\w+)*$/i.test(path);

const LIMITS = {
  maxBodyBytes: 33_554_432,
  maxDataURIBytes: 20_971_520,
  maxOpenBodyBytes: 25_165_824,
  maxStreamsPerUser: 16,
  maxTokens: Infinity,
};
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: 60_000, totalMs: 900_000 };

/** The options with their defaults, and with each check that needs no request done. */
export type Settings<Env = never> = ReturnType<typeof checkOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  const { baseURL, apiKey, authenticate, origins, models, ...optional } = given;
  const isPublic = authenticate === "public";
  // TypeScript checks the rest
  ensure(isFunction(apiKey), "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  const advice = 'authenticate: give a function that returns the user, or "public" if everyone may spend';
  ensure(isPublic || isFunction(authenticate), advice);
  if (Object.keys(optional).length > 0) checkOptional(optional);
  const { basePath = "", mediaURLs = "public", routes = [textChat], allowFields = [] } = optional;
  const { plugins = [], gateway = {}, secret } = optional;
  const limits: Required<Limits> = { ...LIMITS, ...optional.limits };
  const timeout: Required<Timeout> = { ...TIMEOUT, ...optional.timeout };
  const run = plugins.find((plugin) => plugin.run)?.run?.(plugins) as PluginRun<Env> | undefined;
  // under `public` all callers are one user
  const isCounted = !isPublic && !run?.boundsStreams;
  const maxMs = timeout.totalMs;
  const max = Math.max(limits.maxOpenBodyBytes, 1.5 * limits.maxBodyBytes);
  const ofBodies = { limit: "maxOpenBodyBytes", reason: "too_many_bytes" } as const;
  const bodies = { max, maxPerUser: isPublic ? Infinity : max / 1.5, maxMs, ...ofBodies };
  const ofStreams = { limit: "maxStreamsPerUser", reason: "too_many_streams" } as const;
  const maxStreams = isCounted ? limits.maxStreamsPerUser : Infinity;
  const groups = routes.map((group) => ({ ...group, rules: readRules(group, allowFields) }));
  const gatewayRoutes = groups.flatMap((group) =>
    group.paths(gateway).map((path) => ({ ...path, name: group.name, group })),
  );
  const table: readonly Route[] = [...gatewayRoutes, ...(run?.createRoutes(groups) ?? [])];
  const withIds = table.find(({ ids }) => ids)?.name;
  ensure(isPublic || secret || !withIds, `secret: ${withIds} needs one, which keeps users apart`);
  return {
    ...given,
    ...createUpstream(given, timeout.firstChunkMs),
    basePath,
    table,
    limits,
    timeout,
    run,
    mediaURLs: run?.allowURLs(mediaURLs) ?? mediaURLs,
    isPublic,
    countStream: createCount({ maxPerUser: maxStreams, maxMs, ...ofStreams }),
    countBody: createCount(bodies),
    /** Counts the bodies of jobs, which may outlive their requests, and run in the same isolate. */
    countJobBody: createCount(bodies),
    log: { apiKey, secret } as Log<Env>,
    readOrigins: createReader<Env, readonly string[]>("origins", origins, checkOrigins),
    readModels: createReader<Env, ListedModels>("models", models, (value) => checkModels(value, groups)),
    readSecrets: secret ? createReader<Env, readonly string[]>("secret", secret, checkSecrets) : () => [],
  };
}

/** The names of the options that have a default: a misspelled one would have no effect. */
const OPTIONAL =
  /^(?:credentials|allowFields|routes|secret|rateLimit|mediaURLs|basePath|limits|timeout|gateway|plugins|host|fetch)$/;

/** @throws {TypeError} for an option with a default that is unknown or can't work */
function checkOptional<Env>(given: Partial<ProxyOptions<Env>>): void {
  for (const name of Object.keys(given))
    ensure(OPTIONAL.test(name), `${name}: is not an option of createProxy`);
  const { secret, rateLimit, basePath = "", mediaURLs = "public" } = given;
  const { routes = [textChat], plugins = [], allowFields = [] } = given;
  ensure(!secret || isFunction(secret), "secret: give a function");
  ensure(!rateLimit || isFunction(rateLimit), "rateLimit: give a function");
  checkTexts(allowFields, isPath, 'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]');
  const isGroups = isList(routes) && routes[0] && routes.every((group: RouteGroup) => group?.paths);
  ensure(isGroups, "routes: give some of textChat, chat, images, videos, assets, epsilon");
  const isRule = ["public", "any"].includes(mediaURLs as string) || isFunction(mediaURLs);
  ensure(isRule, 'mediaURLs: give "public", "any" or a function');
  ensure(/^(?:\/[\w-]+)*$/.test(basePath), 'basePath: give "" or a path like "/api"');
  // a plugin that is not called would do nothing
  const isPlugins: boolean = Array.isArray(plugins) && plugins.every(isObject);
  const isRunnable = isPlugins && (plugins.length === 0 || plugins.some((plugin) => plugin.run));
  ensure(isRunnable, "plugins: give a list, [budget(…)]; definePlugin({ … }) of /plugin makes your own");
  checkNumbers("limits", LIMITS, given.limits);
  checkNumbers("timeout", TIMEOUT, given.timeout);
}

/** @throws {TypeError} for an unknown name, and for a value that is not a number: every comparison with it is false */
function checkNumbers(subject: string, known: object, given: object = {}): void {
  for (const [name, value] of Object.entries(given)) {
    ensure(name in known, `${subject}.${name}: is not an option of createProxy`);
    ensure(Number.isSafeInteger(value) && value > 0, `${subject}.${name}: give a whole number from 1 up`);
  }
}

function checkOrigins(given: unknown): readonly string[] {
  const isOrigin = (text: string) => URL.parse(text)?.origin === text;
  const advice = 'give exact origins, ["https://app.example.com"], without a path or wildcard';
  return checkTexts(given, isOrigin, `origins: ${advice}`);
}

function checkModels(given: unknown, open: readonly OpenGroup[]): ListedModels {
  const entries: [string, Caps][] = Array.isArray(given)
    ? given.map((id) => [id, {}])
    : Object.entries((isObject(given) ? given : {}) as Readonly<Record<string, Caps>>);
  const ids = entries.map(([id]) => id);
  checkTexts(ids, Boolean, 'models: give the ids that may be used, ["delta-5.3"]', 1);
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) checkCap(id, field, cap, open);
  return new Map(entries);
}

/** @throws {TypeError} for a cap that would never hold, since requests of the model do not have its field */
function checkCap(id: string, field: string, cap: Caps[string], open: readonly OpenGroup[]): void {
  const groups = open.filter(({ name }) => belongsTo(id, name));
  const isField = groups.length === 0 || groups.some((group) => hasField(findRules(group.rules, id), field));
  ensure(isField, `models: ${id}: ${field}: is not a field of this model; correct it, or see allowFields`);
  const isHeld = groups.every((group) => group.applyCaps || (field === "max_tokens" && !Array.isArray(cap)));
  ensure(isHeld, `models: ${id}: ${field}: list \`chat\` in \`routes\` for a cap on this field`);
  const isCap = Array.isArray(cap) ? cap.length > 0 : Number.isSafeInteger(cap) && Number(cap) >= 0;
  ensure(isCap, `models: ${id}: ${field}: give the most, or a list of what is allowed`);
}

function checkSecrets(given: unknown): readonly string[] {
  const isLong = (text: string) => text.length >= 32;
  return checkTexts(
    [given].flat(),
    isLong,
    "secret: give at least 32 random characters; is the secret set?",
    1,
  );
}

/** A proxy, as its own code and its plugins reach it. */
export interface Registered<Env> {
  readonly settings: Settings<Env>;
  /** The proxy, as its plugins see it, once it is opened. */
  server?: PluginServer<Env>;
}

/** All proxies. */
export const proxies = new WeakMap<object, Registered<never>>();
