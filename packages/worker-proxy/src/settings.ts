import type { Caps, ProxyOptions } from "./api/options.js";
import type { Meter, ProxyPlugin } from "./api/plugin.js";
import { isGatewayRoute, type RouteName } from "./api/routes.js";
import { createTables, type FieldsOf, hasField, routeOf } from "./checks/field-table.js";
import { tablesOf } from "./checks/path.js";
import { createStreamCount } from "./checks/streams.js";
import type { PollCache, Reading } from "./gateway/exchange.js";
import { openWay } from "./gateway/way.js";
import { ensure, readerOf } from "./refusals/read-option.js";

type Check = (value: unknown) => boolean;
const isFunction: Check = (value) => typeof value === "function";
const isText = (value: unknown, form: RegExp) => typeof value === "string" && form.test(value);
const isList = (value: unknown, holds: Check, least = 1): value is string[] =>
  Array.isArray(value) && value.length >= least && value.every(holds);

/** The options that are functions where they are given, with one of each as its error shows it. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  secret: "(env) => env.PROXY_SECRET",
  rateLimit: "workersRateLimit((env) => env.RATE_LIMITER)",
  onEvent: "(event, env) => …",
};
/** All options of `createProxy` but those. */
const OPTIONS =
  `baseURL basePath apiKey authenticate origins models routes credentials allowFields mediaURLs limits
  timeout gateway plugins host health fetch`.split(/\s+/);

/** Asks the gateway, and returns the code of the problem. */
type GatewayCheck = (settings: object, host: string, failed: object) => Promise<string | undefined>;

/** The options with their defaults, and with what can be checked without a request checked. */
export type Settings<Env = never> = ReturnType<typeof checkedOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  const { authenticate, secret, origins, models, gateway = {}, health = {}, plugins = [] } = given;
  const { basePath = "", mediaURLs = "public", allowFields = [], credentials = false } = given;
  const routes = given.routes ?? ["chat"];
  for (const [name, value] of Object.entries(given)) {
    const example = FUNCTIONS[name];
    ensure(!example || value === undefined || isFunction(value), `${name}: give a function, ${example}`);
    ensure(example || OPTIONS.includes(name), `${name}: is no option of createProxy`);
  }
  const isPublic = authenticate === "public";
  ensure(
    isPublic || isFunction(authenticate),
    'authenticate: give a function that says who asks, or "public" if everybody may spend',
  );
  const arePlugins = isList(plugins, (plugin) => typeof plugin === "object" && plugin !== null, 0);
  ensure(arePlugins, "plugins: give a list, [budget(…)]");
  const [meter, other] = given.plugins?.filter(isMeter) ?? [];
  ensure(!other, "plugins: two of them reserve; give one budget");
  const way = openWay({ ...given, meter });
  ensure(isText(basePath, /^(?:\/[\w-]+)*$/), 'basePath: give "" or a path like "/api"');
  const { assetLookup, includeUsage } = gateway;
  const isLookup = assetLookup === undefined || isText(assetLookup, /^(?:\/[\w-]+)+$/);
  ensure(isLookup, 'gateway.assetLookup: give a path like "/gamma/asset/GetAsset"');
  const areRoutes = isList(routes, (name) => isGatewayRoute(name as string));
  ensure(areRoutes, "routes: give some of chat, images, videos, assets, epsilon");
  const isMedia = mediaURLs === "public" || mediaURLs === "any" || isFunction(mediaURLs);
  ensure(isMedia, 'mediaURLs: give "public", "any" or a function of the address');
  const areFields = isList(allowFields, (path) => isText(path, /^\w+(?:\.\w+)*$/), 0);
  ensure(areFields, 'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]');

  const fieldsOf = createTables(allowFields);
  const added = plugins.flatMap((plugin) => [
    ...(plugin.routes ?? []),
    ...(plugin.createRoutes?.(plugins) ?? []),
  ]);
  // clients read there what is offered, after an answer was lost
  const hasHealth = health !== false || plugins.some(({ offers }) => offers?.health);
  const isOpen = (name: RouteName) =>
    name === "health" ? hasHealth : routes.some((route) => route === name);
  const tables = tablesOf(isOpen, assetLookup, added);
  const owned = tables.table.find(({ ids }) => ids)?.name;
  ensure(isPublic || secret || !owned, `secret: ${owned} needs one, which keeps users apart`);
  ensure(
    !isPublic || !added.some(({ name }) => name === "admin"),
    'plugins: admin can\'t be open with authenticate: "public"',
  );
  const reading = plugins.find(({ streamReader }) => streamReader)?.streamReader as Reading | undefined;
  ensure(!way.meter || reading, "plugins: one reserves; add readStreams(), which reads what was used");
  return {
    ...given,
    ...tables,
    basePath,
    plugins,
    mediaURLs,
    credentials,
    includeUsage,
    fieldsOf,
    isPublic,
    reading,
    pollCache: plugins.find(({ pollCache }) => pollCache)?.pollCache as PollCache | undefined,
    checkGateway: (health || undefined)?.checkGateway as GatewayCheck | undefined,
    way,
    countStream: createStreamCount(way.limits.maxStreamsPerUser, way.timeout.totalMs),
    log: { ...way.log, secret, advised: new Set<string>() },
    read: {
      origins: readerOf("origins", origins, checkOrigins),
      models: readerOf("models", models, (value) => checkModels(value, fieldsOf)),
      secrets: secret ? readerOf("secret", secret, checkSecrets) : () => [],
    },
  };
}

function isMeter<Env>(plugin: ProxyPlugin<Env>): plugin is Meter<Env> {
  return plugin.reserve !== undefined;
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
    typeof given !== "string" && isList(entries, (entry) => isText((entry as unknown[])[0], /./s));
  ensure(areModels, 'models: give the ids that may be asked, ["delta-5.3"]');
  for (const [id, caps] of entries)
    for (const [field, cap] of Object.entries(caps)) {
      // a cap on a field that is never found would never hold
      const names = [routeOf(id) ?? ["chat", "images", "videos", "assets"]].flat();
      const isField = names.some((name) => hasField(fieldsOf(name, id), field));
      ensure(isField, `models: ${id}: ${field}: is no field of this model; correct it, or see allowFields`);
      const isCap = Array.isArray(cap) ? cap.length > 0 : Number.isSafeInteger(cap) && Number(cap) >= 0;
      ensure(isCap, `models: ${id}: ${field}: give the most, or a list of what is allowed`);
    }
  return new Map(entries);
}

function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong = isList(secrets, (secret) => isText(secret, /^.{32}/s));
  ensure(areLong, "secret: give at least 32 random characters; is the secret set?");
  return secrets;
}
