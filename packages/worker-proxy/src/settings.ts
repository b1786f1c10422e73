import type { Caps, Limits, MediaURLs, ProxyOptions, Timeout } from "./api/options.js";
import type { Meter, ProxyPlugin } from "./api/plugin.js";
import type { RouteGroup } from "./api/routes.js";
import { isPublicURL } from "./checks/addresses.js";
import { createRules, type FindRules, hasField } from "./checks/fields.js";
import { belongsTo } from "./checks/models.js";
import type { Route } from "./checks/path.js";
import { createStreamCount } from "./checks/streams.js";
import type { Reading } from "./gateway/exchange.js";
import { createUpstream } from "./gateway/upstream.js";
import { createLines } from "./refusals/log.js";
import { createReader, ensure } from "./refusals/read-option.js";
import { chat } from "./routes/chat.js";

/** The options by the type of their values. TypeScript checks the rest, and the code below what would be unsafe. */
const OPTIONS = {
  function: ["secret", "rateLimit", "fetch", "onEvent"],
  object: ["routes", "limits", "timeout", "gateway", "allowFields"],
  any: [
    "authenticate",
    "baseURL",
    "origins",
    "models",
    "basePath",
    "credentials",
    "mediaURLs",
    "host",
    "apiKey",
    "plugins",
  ],
};

/** A field of a body: `extra_body.top_k`. */
const PATH = /^[a-z_]\w*(?:\.\w+)*$/i;
const LIMITS = { maxBodyBytes: 33_554_432, maxDataURIBytes: 20_971_520, maxStreamsPerUser: 16 };
const TIMEOUT = { bodyMs: 30_000, firstChunkMs: 600_000, chunkMs: 60_000, totalMs: 900_000 };

/** The options with their defaults, and with each check that needs no request done. */
export type Settings<Env = never> = ReturnType<typeof checkOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  for (const [name, value] of Object.entries<unknown>({ ...given })) {
    const [type] = Object.entries(OPTIONS).find(([, names]) => names.includes(name)) ?? [];
    ensure(type, `${name}: is no option of createProxy`);
    ensure(type === "any" || value === undefined || typeof value === type, `${name}: give a ${type}`);
  }
  const { apiKey, authenticate, secret, gateway = {}, plugins = [], routes = [chat], basePath = "" } = given;
  const isPublic = authenticate === "public";
  ensure(typeof apiKey === "function", "apiKey: give a function, (env) => env.GATEWAY_API_KEY");
  ensure(
    isPublic || typeof authenticate === "function",
    'authenticate: give a function that says who asks, or "public" if everybody may spend',
  );
  // a plugin that is not called would do nothing
  ensure(
    plugins.every?.((plugin) => typeof plugin === "object"),
    "plugins: give a list, [budget(…)]",
  );
  ensure(/^(?:\/[\w-]+)*$/.test(basePath), 'basePath: give "" or a path like "/api"');
  ensure(
    routes.length > 0 && routes.every((group) => group?.paths),
    "routes: give some of chat, images, videos, assets, epsilon",
  );
  const { allowFields = [], mediaURLs = "public" } = given;
  ensure(
    Array.isArray(allowFields) && allowFields.every((path) => PATH.test(path)),
    'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]',
  );
  ensure(
    mediaURLs === "public" || mediaURLs === "any" || typeof mediaURLs === "function",
    'mediaURLs: give "public", "any" or a function of the address',
  );
  const limits: typeof LIMITS & Limits = checkNumbers("limits", LIMITS, given.limits, "maxTokens");
  const timeout: Required<Timeout> = checkNumbers("timeout", TIMEOUT, given.timeout);
  const [meter, other] = plugins.filter((plugin): plugin is Meter<Env> => plugin.reserve !== undefined);
  ensure(!other, "plugins: two of them reserve; give one budget");
  const reading = plugins.find(({ streamReader }) => streamReader)?.streamReader as Reading | undefined;
  ensure(!meter || reading, "plugins: one reserves; add readStreams(), which reads what was used");
  const table = createTable(routes, gateway, plugins);
  const owned = table.find(({ ids }) => ids)?.name;
  ensure(isPublic || secret || !owned, `secret: ${owned} needs one, which keeps users apart`);
  const findRules = createRules(allowFields);
  return {
    ...given,
    ...createUpstream(given, timeout.firstChunkMs),
    table,
    basePath,
    plugins,
    limits,
    timeout,
    mediaURLs: addOwnURLs(mediaURLs, plugins),
    findRules,
    isPublic,
    meter,
    reading,
    /** Undefined without a meter: nothing reads the usage of streams. */
    asksUsage: meter ? gateway.includeUsage : false,
    /** Undefined where all callers are one user, and where a plugin bounds the streams. */
    countStream:
      isPublic || plugins.some(({ boundsStreams }) => boundsStreams)
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

/** @throws {TypeError} for an unknown name, and for a value that is not a number: every comparison with it is false */
function checkNumbers<Numbers extends object>(
  subject: string,
  usual: Numbers,
  given: object = {},
  more = "",
): Numbers {
  for (const [name, value] of Object.entries(given)) {
    ensure(name in usual || name === more, `${subject}.${name}: is no option of createProxy`);
    ensure(Number.isSafeInteger(value) && value > 0, `${subject}.${name}: give a whole number from 1 up`);
  }
  return { ...usual, ...given };
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
  const isOrigin = (text: unknown) => typeof text === "string" && URL.parse(text)?.origin === text;
  ensure(
    Array.isArray(given) && given.every(isOrigin),
    'origins: give exact origins, ["https://app.example.com"], without a path or wildcard',
  );
  return given;
}

function checkModels(
  given: unknown,
  routes: readonly RouteGroup[],
  findRules: FindRules,
): ReadonlyMap<string, Caps> {
  const entries: [string, Caps][] = Array.isArray(given)
    ? given.map((id) => [id, {}])
    : Object.entries((typeof given === "object" ? (given ?? {}) : {}) as Readonly<Record<string, Caps>>);
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
  const secrets: readonly unknown[] = [given].flat();
  ensure(
    secrets.length > 0 && secrets.every((text) => typeof text === "string" && text.length >= 32),
    "secret: give at least 32 random characters; is the secret set?",
  );
  return secrets as readonly string[];
}
