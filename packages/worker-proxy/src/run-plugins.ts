import type { PluginServer } from "./api/host.js";
import type { ProxyOptions } from "./api/options.js";
import type { AdmittedRequest, Meter, ProxyPlugin, User } from "./api/plugin.js";
import type { MarkedId } from "./api/routes.js";
import { isPublicURL } from "./checks/addresses.js";
import { findOperator } from "./checks/operator.js";
import { type Found, isPoll, type Match, type OpenGroup, type Route } from "./checks/path.js";
import type { Exchange, ReadStream } from "./gateway/exchange.js";
import type { PassResponse } from "./gateway/respond.js";
import { createStoredPass, passEmpty } from "./gateway/stored.js";
import { notifyAtEnd } from "./notify.js";
import { noteJSON, settleJSON } from "./reading/json-outcome.js";
import { openAccount } from "./reading/reservation.js";
import { isCredential } from "./refusals/log.js";
import { ensure } from "./refusals/read-option.js";
import { Refusal } from "./refusals/refusal.js";
import { type Incoming, isTraceparent, type Report } from "./refusals/report.js";
import { findServer } from "./server.js";

/** The plugins of a proxy, by the points of a request where they run. */
export type PluginRun<Env> = ReturnType<typeof runPlugins<Env>>;

/** A request with a user, before its body is read. */
type SignedIn<Env> = Omit<AdmittedRequest<Env>, "id" | "signedId">;

/** The response of a plugin in the gateway's place. */
interface OwnResponse {
  readonly response: Response;
  /** Passes it on unread. @default it is checked like the gateway's */
  readonly pass: PassResponse | undefined;
}

/** The user of a request for a signed link, which needs no sign-in. */
const GUEST: User = { id: "" };

const GATEWAY_GROUPS: readonly string[] = ["chat", "images", "videos", "assets", "epsilon"];

/** @throws {TypeError} for plugins that do not work together */
export function runPlugins<Env>(plugins: readonly ProxyPlugin<Env>[]) {
  const [meter, other] = plugins.filter((plugin): plugin is Meter<Env> => plugin.reserve !== undefined);
  ensure(!other, "plugins: two of them reserve; give one budget");
  const readStream = plugins.find((plugin) => plugin.readStream)?.readStream as ReadStream | undefined;
  ensure(!meter || readStream, "plugins: one reserves; add readStreams(), which reads what was used");
  let server: PluginServer<Env>;
  return {
    meter,
    readStream,
    boundsStreams: plugins.some(({ boundsStreams }) => boundsStreams),
    connect,
    watch: (report: Report, incoming: Incoming<Env>) => notifyAtEnd(server, report, incoming),
    createRoutes: (groups: readonly OpenGroup[]) => createRoutes(plugins, groups),
    allowURLs,
    findOperator: findRouteOperator,
    noteRoute,
    findGuest: ({ plugin }: Route) => (plugin?.isPublic ? GUEST : undefined),
    serveRaw,
    adapt: (...body: Parameters<NonNullable<ProxyPlugin["adapt"]>>) =>
      plugins.flatMap(({ adapt }) => adapt?.(...body) ?? []),
    checkRequest,
    readHeaders,
    send,
    settleJSON,
    reportResponse,
  };

  function connect(proxy: object): void {
    server = findServer<Env>(proxy);
    for (const plugin of plugins) plugin.connect?.(server);
  }

  /** Lets requests also name the addresses of files that plugins store. */
  function allowURLs(given: NonNullable<ProxyOptions["mediaURLs"]>): typeof given {
    const own = plugins.filter(({ allowsMediaURL }) => allowsMediaURL);
    if (given === "any" || own.length === 0) return given;
    const isGiven = given === "public" ? isPublicURL : given;
    return (url) => own.some((plugin) => plugin.allowsMediaURL?.(url)) || isGiven(url);
  }

  /** Finds the operator of a request for a hidden path. For other users the path does not exist. */
  async function findRouteOperator(
    settings: Parameters<typeof findOperator<Env>>[0],
    incoming: Incoming<Env>,
    found: Found,
    report: Report,
    sender: User | undefined,
  ): Promise<User | undefined> {
    const [first] = found.matches;
    const isHidden = first?.route.name === "admin";
    const operator =
      isHidden && !sender ? await findOperator(settings, incoming, first.route, report) : undefined;
    // the operator's own code sends to the gateway alone
    if (sender || (isHidden && !operator)) found.matches = found.matches.filter(({ route }) => !route.plugin);
    return operator;
  }

  /** Returns the response of a plugin that reads and sends bytes. They say themselves how long they may be stored. */
  async function serveRaw(
    { route, signedId }: Match,
    signedIn: SignedIn<Env>,
    { headers, end }: Report,
  ): Promise<Response> {
    const admitted = { ...signedIn, ...(signedId !== undefined && { id: signedId, signedId }) };
    const served = await runHook(() => route.plugin?.serve(admitted as AdmittedRequest<never>));
    if (!served) throw new Refusal("not_found");
    const response = "response" in served ? served.response : served;
    if (response.headers.has("cache-control")) delete headers["cache-control"];
    end(response.status);
    return new Response(response.body, response);
  }

  /** Adds the features of a group to the headers, on refusals, too: a client decides by them if it may repeat a request. */
  function noteRoute({ name }: Route, { known, headers }: Report): void {
    known.route = name;
    const features = plugins.flatMap(({ features }) => features?.[name] ?? []);
    if (features.length > 0) headers["x-sluice-features"] = features.join(", ");
  }

  async function checkRequest(admitted: AdmittedRequest<Env>, { known, headers }: Report): Promise<void> {
    const { route, model, body, dropped = [] } = admitted;
    if (model !== undefined) known.model = model;
    if (dropped.length > 0) headers["x-sluice-dropped-fields"] = dropped.join(", ");
    if (route === "admin" && typeof body?.["user"] === "string") known.target = body["user"];
    for (const plugin of plugins) await runHook(() => plugin.checkRequest?.(admitted));
  }

  /** Reads the headers that plugins add, and the `traceparent` of the proxy's own span. Adds credentials to `keys`. */
  async function readHeaders(
    admitted: AdmittedRequest<Env>,
    report: Report,
    keys: string[],
  ): Promise<Record<string, string>> {
    const { known, startedAt } = report;
    const { traceparent } = known;
    const begun = { method: admitted.request.method, route: admitted.route, traceparent, startedAt };
    const headers: Record<string, string> = {};
    for (const plugin of plugins) {
      Object.assign(headers, await plugin.headers?.(admitted));
      try {
        const own = plugin.traceparent?.(begun);
        if (isTraceparent(own)) known.ownTraceparent = headers["traceparent"] = own;
      } catch (error) {
        logFailure("traceparent", error, admitted);
      }
    }
    report.secrets = Object.values(headers);
    for (const [name, value] of Object.entries(headers)) if (isCredential(name)) keys.push(value);
    return headers;
  }

  /**
   * Returns the response of a plugin in the gateway's place, if one gives any. Otherwise it reserves what the request can
   * cost: last, because a request that the proxy or a plugin refuses costs nothing.
   *
   * @throws {Refusal} 503 where the plugin or the meter fails, 429 when nothing is left
   */
  async function send(exchange: Exchange<Env>): Promise<OwnResponse | undefined> {
    const { route, admitted, call, settings, report } = exchange;
    // a path of a plugin's own may take its time
    const limit = route.plugin
      ? undefined
      : ({ ms: settings.timeout.firstChunkMs, late: "upstream_timeout" } as const);
    const callPlugins = () =>
      runHook(async () => {
        let response = route.plugin?.serve(admitted as AdmittedRequest<never>);
        for (const plugin of plugins) response ??= plugin.send?.(admitted, meter !== undefined);
        return await response;
      });
    const own = await call.wait(callPlugins, "upstream_unreachable", limit);
    if (own && "response" in own) return { response: own.response, pass: createStoredPass(own) };
    if (own) return { response: own, pass: own.status === 204 && route.plugin ? passEmpty : undefined };
    if (meter && !isPoll(route))
      exchange.account = await openAccount(() => meter.reserve(admitted), admitted, {
        log: server.log,
        onPaid: (paid) => void Object.assign(report.known, paid),
      });
    return undefined;
  }

  /** Logs an error of a plugin on which the request does not depend. */
  function logFailure(subject: string, error: unknown, incoming: Incoming<Env>): void {
    const logged = server.log(`${subject} failed`, error, incoming);
    incoming.context?.waitUntil(logged);
  }

  /** Notes the outcome of a response of JSON. Shows the plugins one about a task, an asset or images. */
  async function reportResponse(
    { admitted, report }: Exchange<Env>,
    json: unknown,
    marked: MarkedId | undefined,
  ): Promise<void> {
    noteJSON(report, json);
    if (!marked && admitted.route !== "images") return;
    // the id that the client gets: the gateway may have given one
    const headers = { ...admitted.headers, "x-request-id": report.known.requestId };
    const shown = marked ? { ...admitted, ...marked, headers } : admitted;
    const results = plugins.map(async (plugin) => plugin.responded?.(shown, json));
    for (const result of await Promise.allSettled(results))
      if (result.status === "rejected") logFailure("plugins: responded", result.reason, admitted);
  }
}

/** Creates the routes of the plugins. A plugin's route in a group of the gateway is open with its group. */
function createRoutes(
  plugins: readonly ProxyPlugin<never>[],
  groups: readonly OpenGroup[],
): readonly Route[] {
  const added = plugins.flatMap((plugin) => [
    ...(plugin.routes ?? []),
    ...(plugin.createRoutes?.(plugins) ?? []),
  ]);
  return added.flatMap((plugin) => {
    const { name, method, path, id, isPublic, query } = plugin;
    const isReading = method === "GET" || method === "HEAD";
    ensure(!isPublic || isReading, "plugins: a public route only reads: GET or HEAD");
    const group = groups.find((group) => group.name === name);
    if (GATEWAY_GROUPS.includes(name) && !group) return [];
    const ids = id === "task" ? id : undefined;
    return {
      name,
      method,
      path,
      ids,
      group,
      plugin,
      ...(query && { takesQuery: createQueryCheck(query) }),
    };
  });
}

/** Creates the check that a route has each parameter of a query, and that none comes twice. */
function createQueryCheck(names: readonly string[]) {
  return (address: Found["parsed"]): boolean => {
    const given = [...(address?.searchParams.keys() ?? [])];
    return given.every((name, at) => names.includes(name) && given.indexOf(name) === at);
  };
}

/** Runs code of a plugin that decides about a request. @throws {Refusal} the plugin's, or 503 if it fails */
async function runHook<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("plugin_unavailable", { problem: "plugins failed", cause: error });
  }
}
