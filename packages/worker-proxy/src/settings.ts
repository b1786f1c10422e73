import type { Caps, MediaURLs, ProxyOptions } from "./api/options.js";
import type { Meter, ProxyPlugin } from "./api/plugin.js";
import type { RouteGroup } from "./api/routes.js";
import { isPublicURL } from "./checks/addresses.js";
import { createRules, type FindRules, hasField } from "./checks/fields.js";
import { belongsTo } from "./checks/models.js";
import type { Route } from "./checks/path.js";
import { createStreamCount } from "./checks/streams.js";
import type { Reading } from "./gateway/exchange.js";
import { createUpstream } from "./gateway/upstream.js";
import { createRepeats } from "./refusals/log.js";
import { createReader, ensure } from "./refusals/read-option.js";
import { chat } from "./routes/chat.js";

type Check = (value: unknown) => boolean;
const isFunction: Check = (value) => typeof value === "function";
const isObject: Check = (value) => typeof value === "object" && value !== null;
const isAny: Check = () => true;
const isText =
  (form: RegExp): Check =>
  (value) =>
    typeof value === "string" && form.test(value);
const isList =
  (holds: Check, min = 1): Check =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.every(holds);

/** The check of each option, and the advice of its error. Other functions check the options that may be any value. */
const OPTIONS: Readonly<Record<string, readonly [check: Check, advice: string]>> = {
  baseURL: [isAny, ""],
  apiKey: [isFunction, "a function, (env) => env.GATEWAY_API_KEY"],
  authenticate: [
    (value) => value === "public" || isFunction(value),
    'a function that says who asks, or "public" if everybody may spend',
  ],
  origins: [isAny, ""],
  models: [isAny, ""],
  basePath: [isText(/^(?:\/[\w-]+)*$/), '"" or a path like "/api"'],
  routes: [
    isList((group) => isFunction((group as RouteGroup)?.paths)),
    "some of chat, images, videos, assets, epsilon",
  ],
  secret: [isFunction, "a function, (env) => env.PROXY_SECRET"],
  credentials: [isAny, ""],
  allowFields: [isList(isText(/^\w+(?:\.\w+)*$/), 0), 'names or paths of fields, ["n", "extra_body.top_k"]'],
  mediaURLs: [
    (value) => value === "public" || value === "any" || isFunction(value),
    '"public", "any" or a function of the address',
  ],
  rateLimit: [isFunction, "a function, workersRateLimit((env) => env.RATE_LIMITER)"],
  limits: [isAny, ""],
  timeout: [isAny, ""],
  gateway: [isAny, ""],
  plugins: [isList(isObject, 0), "a list, [budget(…)]"],
  host: [
    (host) => isFunction((host as { open?: unknown })?.open),
    "what cloudflareHost(…), nodeHost(…) or postgresHost(…) returns",
  ],
  fetch: [isFunction, "a function, (request, env) => …"],
  onEvent: [isFunction, "a function, (event, env) => …"],
};

/** Required options that no reader checks. */
const REQUIRED = { apiKey: undefined, authenticate: undefined };

/** The options with their defaults, and with each check that needs no request done. */
export type Settings<Env = never> = ReturnType<typeof checkOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  for (const [name, value] of Object.entries<unknown>({ ...REQUIRED, ...given })) {
    const [check, advice] = OPTIONS[name] ?? [];
    ensure(check, `${name}: is no option of createProxy`);
    ensure((value === undefined && !(name in REQUIRED)) || check(value), `${name}: give ${advice}`);
  }
  const { authenticate, secret, gateway = {}, plugins = [], routes = [chat], basePath = "" } = given;
  const { assetLookup } = gateway;
  const isLookup = assetLookup === undefined || isText(/^(?:\/[\w-]+)+$/)(assetLookup);
  ensure(isLookup, 'gateway.assetLookup: give a path like "/gamma/asset/GetAsset"');
  const isPublic = authenticate === "public";
  const [meter, other] = plugins.filter((plugin): plugin is Meter<Env> => plugin.reserve !== undefined);
  ensure(!other, "plugins: two of them reserve; give one budget");
  const reading = plugins.find(({ streamReader }) => streamReader)?.streamReader as Reading | undefined;
  ensure(!meter || reading, "plugins: one reserves; add readStreams(), which reads what was used");
  const upstream = createUpstream(given, meter);
  const table = createTable(routes, gateway, plugins);
  const owned = table.find(({ ids }) => ids)?.name;
  ensure(isPublic || secret || !owned, `secret: ${owned} needs one, which keeps users apart`);
  ensure(
    !isPublic || !table.some(({ name }) => name === "admin"),
    'plugins: admin can\'t be open with authenticate: "public"',
  );
  const findRules = createRules(given.allowFields ?? []);
  return {
    ...given,
    table,
    basePath,
    plugins,
    mediaURLs: addOwnURLs(given.mediaURLs ?? "public", plugins),
    credentials: given.credentials ?? false,
    findRules,
    isPublic,
    reading,
    upstream,
    /** Undefined without a meter: nothing reads the usage of streams. */
    asksUsage: meter ? gateway.includeUsage : false,
    countStream: createStreamCount(upstream.limits.maxStreamsPerUser, upstream.timeout.totalMs),
    log: { apiKey: given.apiKey, secret, advised: new Set<string>(), repeats: createRepeats() },
    read: {
      origins: createReader<Env, readonly string[]>("origins", given.origins, checkOrigins),
      models: createReader<Env, ReadonlyMap<string, Caps>>("models", given.models, (value) =>
        checkModels(value, routes, findRules),
      ),
      secrets: secret ? createReader<Env, readonly string[]>("secret", secret, checkSecrets) : () => [],
    },
  };
}

/** Returns the routes that are open. A plugin's route in a group of the gateway is open with its group. */
function createTable<Env>(
  groups: readonly RouteGroup[],
  gateway: NonNullable<ProxyOptions["gateway"]>,
  plugins: readonly ProxyPlugin<Env>[],
): readonly Route[] {
  const names: readonly string[] = ["chat", "images", "videos", "assets", "epsilon"];
  const added = plugins.flatMap((plugin) => [
    ...(plugin.routes ?? []),
    ...(plugin.createRoutes?.(plugins) ?? []),
  ]);
  // after a lost response, clients read the offers there
  if (plugins.some(({ offers }) => offers?.["health"]) && !added.some(({ path }) => path === "/health"))
    added.push({
      name: "health",
      method: "GET",
      path: "/health",
      id: "own",
      isPublic: true,
      isRaw: true,
      serve: async () => Response.json({ status: "ok" }),
    });
  return [
    ...groups.flatMap((group) => group.paths(gateway).map((path) => ({ ...path, name: group.name, group }))),
    ...added.flatMap((plugin) => {
      const { name, method, path, id, isPublic } = plugin;
      const isReading = method === "GET" || method === "HEAD";
      ensure(!isPublic || isReading, "plugins: a public route only reads: GET or HEAD");
      const group = groups.find((group) => group.name === name);
      if (names.includes(name) && !group) return [];
      return { name, method, path, ids: id === "task" ? ("task" as const) : undefined, group, plugin };
    }),
  ];
}

/** Lets requests also name the addresses of files that plugins store. */
function addOwnURLs(given: MediaURLs, plugins: readonly ProxyPlugin<never>[]): MediaURLs {
  const own = plugins.filter(({ allowsMediaURL }) => allowsMediaURL);
  if (given === "any" || own.length === 0) return given;
  const isGiven = given === "public" ? isPublicURL : given;
  return (url) => own.some((plugin) => plugin.allowsMediaURL?.(url)) || isGiven(url);
}

function checkOrigins(given: unknown): readonly string[] {
  const isOrigin: Check = (text) => typeof text === "string" && URL.parse(text)?.origin === text;
  const advice = 'origins: give exact origins, ["https://app.example.com"], without a path or wildcard';
  ensure(isList(isOrigin, 0)(given), advice);
  return given as readonly string[];
}

function checkModels(
  given: unknown,
  routes: readonly RouteGroup[],
  findRules: FindRules,
): ReadonlyMap<string, Caps> {
  const entries = Array.isArray(given)
    ? given.map((id): [string, Caps] => [id, {}])
    : Object.entries((isObject(given) ? given : {}) as Readonly<Record<string, Caps>>);
  ensure(
    isList(isText(/./s))(entries.map(([id]) => id)),
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
    isList(isText(/^.{32}/s))(secrets),
    "secret: give at least 32 random characters; is the secret set?",
  );
  return secrets as readonly string[];
}
