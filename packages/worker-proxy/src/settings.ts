import type { PluginServer } from "./api/host.js";
import type { Caps, Limits, ProxyOptions, Timeout } from "./api/options.js";
import type { ProxyPlugin, User } from "./api/plugin.js";
import type { RouteGroup } from "./api/routes.js";
import { createRules, type FindRules, hasField, isList } from "./checks/fields.js";
import { belongsTo } from "./checks/models.js";
import type { Route } from "./checks/path.js";
import { createStreamCount } from "./checks/streams.js";
import { createUpstream } from "./gateway/upstream.js";
import { createLines } from "./refusals/log.js";
import { checkTexts, createReader, ensure } from "./refusals/read-option.js";
import { textChat } from "./routes/chat.js";
import type { PluginRun } from "./run-plugins.js";

const isFunction = (value: unknown) => typeof value === "function";
const isObject = (value: unknown) => typeof value === "object" && value !== null;
const isPath = (path: string) => /^[a-z_]\w*(?:\.\w+)*$/i.test(path);

const LIMITS = { maxBodyBytes: 33_554_432, maxDataURIBytes: 20_971_520, maxStreamsPerUser: 16 };
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: 60_000, totalMs: 900_000 };

const USUAL = {
  ...{ routes: [textChat], plugins: [], allowFields: [] },
  ...{ basePath: "", mediaURLs: "public", limits: {}, timeout: {}, gateway: {} },
} as const satisfies Partial<ProxyOptions>;

/** The options without a default. */
const OTHERS = "baseURL apiKey authenticate origins credentials models secret rateLimit host fetch".split(
  " ",
);

/** The options with their defaults, and with each check that needs no request done. */
export type Settings<Env = never> = ReturnType<typeof checkOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  for (const name of Object.keys(given))
    ensure(name in USUAL || OTHERS.includes(name), `${name}: is no option of createProxy`);
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  const options = { ...USUAL, ...(Object.fromEntries(said) as typeof USUAL & ProxyOptions<Env>) };
  const { apiKey, authenticate, secret, rateLimit, gateway, routes, allowFields, mediaURLs } = options;
  // TypeScript checks the rest
  ensure(isFunction(apiKey), "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  const isPublic = authenticate === "public";
  const advice = 'authenticate: give a function that says who asks, or "public" if everybody may spend';
  ensure(isPublic || isFunction(authenticate), advice);
  ensure(!secret || isFunction(secret), "secret: give a function");
  ensure(!rateLimit || isFunction(rateLimit), "rateLimit: give a function");
  checkTexts(allowFields, isPath, 'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]');
  const isGroups = isList(routes) && routes[0] && routes.every((group: RouteGroup) => group?.paths);
  ensure(isGroups, "routes: give some of textChat, chat, images, videos, assets, epsilon");
  const isRule = ["public", "any"].includes(mediaURLs) || isFunction(mediaURLs);
  ensure(isRule, 'mediaURLs: give "public", "any" or a function');
  ensure(/^(?:\/[\w-]+)*$/.test(options.basePath), 'basePath: give "" or a path like "/api"');
  // a plugin that is not called would do nothing
  ensure(isList(options.plugins) && options.plugins.every(isObject), "plugins: give a list, [budget(…)]");
  const plugins: readonly ProxyPlugin<Env>[] = options.plugins;
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
  const isOrigin = (text: string) => URL.parse(text)?.origin === text;
  const advice = 'give exact origins, ["https://app.example.com"], without a path or wildcard';
  return checkTexts(given, isOrigin, `origins: ${advice}`);
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
      const isHeld = groups.every(
        (group) => group.applyCaps || (field === "max_tokens" && !Array.isArray(cap)),
      );
      ensure(isHeld, `models: ${id}: ${field}: list \`chat\` in \`routes\` for a cap on this field`);
      const isCap = Array.isArray(cap) ? cap.length > 0 : Number.isSafeInteger(cap) && Number(cap) >= 0;
      ensure(isCap, `models: ${id}: ${field}: give the most, or a list of what is allowed`);
    }
  return new Map(entries);
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

/** Serves a request of the operator's own code for a user, who does not have to sign in. */
export type ServeAs<Env> = (request: Request, user: User, env: Env) => Promise<Response>;

/** A proxy, as its own code and its plugins reach it. */
export interface Registered<Env> {
  readonly settings: Settings<Env>;
  readonly serveAs: ServeAs<Env>;
  /** The proxy, as its plugins see it, once it is opened. */
  server?: PluginServer<Env>;
}

/** All proxies. */
export const proxies = new WeakMap<object, Registered<never>>();
