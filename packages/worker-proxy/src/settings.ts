import { createTables, type FieldsOf, hasField, routeOf } from "./gates/field-table.js";
import { tablesOf } from "./gates/path.js";
import type { Caps, ProxyOptions } from "./options.js";
import { ensure, readerOf } from "./read-option.js";
import { groupsWith } from "./route-lists.js";
import { type RouteName, routeGroups } from "./routes.js";
import { openWay } from "./way.js";

/** The groups that an operator can open without an extension. */
const ROUTES = Object.keys(routeGroups).filter((name) => name !== "media");
/** The groups whose ids belong to one user. */
const OWNED = groupsWith("ids");

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
  traceparent: "createProxyTelemetry().traceparent",
  onEvent: "(event, env) => …",
} satisfies { readonly [Name in keyof ProxyOptions]?: string };

/** The options with their defaults, and with what can be checked without a request checked. */
export type Settings<Env = never> = ReturnType<typeof checkedOptions<Env>>;

/** @throws {TypeError} when an option is missing or can't work; the message says what to give */
export function checkedOptions<Env>(given: ProxyOptions<Env>) {
  ensure(given, "give the options: { baseURL, apiKey, authenticate, origins, models }");
  const { authenticate, secret, origins, models, assetLookup, meter } = given;
  const { basePath = "", extensions = [], media = "public", allowFields = [], credentials = false } = given;
  const routes: readonly RouteName[] = given.routes ?? ["chat", "health"];
  const isDoor = authenticate === "public" || isFunction(authenticate);
  ensure(isDoor, 'authenticate: give a function that says who asks, or "public" if everybody may spend');
  for (const [name, example] of Object.entries(functions)) {
    const value = given[name as keyof typeof functions];
    ensure(value === undefined || isFunction(value), `${name}: give a function, ${example}`);
  }
  const way = openWay(given);
  ensure(Array.isArray(extensions), "extensions: give a list, [streamLog(…)]");
  ensure(isText(basePath, /^(?:\/[\w-]+)*$/), 'basePath: give "" or a path like "/api"');
  const isLookup = assetLookup === undefined || isText(assetLookup, /^(?:\/[\w-]+)+$/);
  ensure(isLookup, 'assetLookup: give a path like "/gamma/asset/GetAsset"');
  const added = [...extensions, ...(meter ? [meter] : [])].flatMap((part) => part.routes ?? []);
  const known = [...new Set([...ROUTES, ...added.map(({ name }) => name)])];
  const areRoutes = isList(routes, (name) => known.some((route) => route === name));
  ensure(areRoutes, `routes: give some of ${known.join(", ")}`);
  const isMedia = media === "public" || media === "any" || isFunction(media);
  ensure(isMedia, 'media: give "public", "any" or a function of the address');
  const areFields = isList(allowFields, (path) => isText(path, /^\w+(?:\.\w+)*$/), 0);
  ensure(areFields, 'allowFields: give names or paths of fields, ["n", "extra_body.top_k"]');

  const fieldsOf = createTables(allowFields);
  const offersHealth = extensions.some(({ offers }) => offers?.health);
  const read = {
    origins: readerOf("origins", origins, checkOrigins),
    models: readerOf("models", models, (value) => checkModels(value, fieldsOf)),
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
  return {
    ...given,
    basePath,
    extensions,
    media,
    credentials,
    read,
    way,
    log: { ...way.log, secret, advised: new Set<string>() },
    fieldsOf,
    // clients read there what is offered, after an answer was lost
    ...tablesOf(offersHealth ? [...routes, "health"] : routes, assetLookup, added),
  };
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

function checkSecrets(given: unknown): readonly string[] {
  const secrets = [given].flat();
  const areLong = isList(secrets, (secret) => isText(secret, /^.{32}/s));
  ensure(areLong, "secret: give at least 32 random characters; is the secret set?");
  return secrets;
}
