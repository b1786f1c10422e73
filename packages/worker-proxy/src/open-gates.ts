import type { Admitted, User } from "./admitted.js";
import { admit } from "./gates/admit.js";
import type { Account } from "./gates/budget.js";
import { hasOwnFields } from "./gates/field-table.js";
import type { Tenancy } from "./gates/ids.js";
import type { ListedModels } from "./gates/model.js";
import { corsHeadersOf } from "./gates/origin.js";
import { find, type Match, type Route } from "./gates/path.js";
import { checkRate } from "./gates/rate.js";
import { createStreamCount } from "./gates/streams.js";
import { userOf } from "./gates/user.js";
import { passOn } from "./gateway/answer.js";
import { type Call, openCall } from "./gateway/call.js";
import type { Exchange } from "./gateway/exchange.js";
import type { Flights, Polled } from "./gateway/polls.js";
import type { Gateway, Outgoing } from "./gateway/request.js";
import type { ProxyOptions } from "./options.js";
import { refusalIn } from "./refusals/refusal.js";
import { openReport, type Report } from "./report.js";
import type { RouteName } from "./routes.js";
import { checkedOptions } from "./settings.js";

/** A request as it comes in. */
export type Incoming<Env> = Pick<Admitted<Env>, "request" | "env" | "context">;

/** The gates of one proxy. */
export type Gates<Env> = ReturnType<typeof openGates<Env>>;

/** The part of the gates that depends on the environment and the user. */
export interface Setup {
  readonly gateway: Gateway;
  readonly models: ListedModels;
  /** The marks of this user's ids; undefined without a `secret`. */
  readonly tenancy: Tenancy | undefined;
  /** Values that no answer may hold: the gateway's keys, and keys in further headers. */
  readonly keys: readonly string[];
}

/**
 * Opens the gates of one proxy, in the order of a request. Each has the options that it uses, and no other.
 *
 * @throws {TypeError} when an option is missing or can't work; the message says what to give
 */
export function openGates<Env>(options: ProxyOptions<Env>) {
  const settings = checkedOptions(options);
  const { authenticate, basePath, credentials, extensions, fieldsOf, includeUsage, media, log } = settings;
  const { closed, meter, onEvent, rateLimit, read, table, traceparent, upstreamHeaders, way } = settings;
  const { adaptJSONSchema: adaptsSchemas = false } = settings;
  const { limits } = way;
  const { stallMs, headersMs, totalMs } = limits;
  const isPublic = authenticate === "public";
  const isCounted = !isPublic && !extensions.some(({ boundsStreams }) => boundsStreams);
  const countStream = createStreamCount(limits.streamsPerUser, totalMs);
  const polls: Flights<Polled> = new Map();
  return {
    report: ({ request, env, context }: Incoming<Env>) =>
      openReport(
        request,
        (event) => onEvent?.(event, env, context),
        (option, error) => {
          const logged = import("./refusals/log.js").then(({ logCause }) =>
            logCause(`${option} failed`, error, { request, env, log }),
          );
          context?.waitUntil(logged.catch(() => {}));
        },
      ),
    path: (url: string) => find(url, { basePath, table }),
    origins: read.origins,
    cors: (origin: string | null, allowed: readonly string[]) => corsHeadersOf(origin, allowed, credentials),
    async operator(incoming: Incoming<Env>, { route }: Match, report: Report): Promise<User | undefined> {
      const { operatorOf } = await import("./gates/operator.js");
      return await operatorOf(authenticate, incoming, route, report, async (subject, error) => {
        const { logCause } = await import("./refusals/log.js");
        await logCause(subject, error, { ...incoming, log, report });
      });
    },
    /** Makes the header that names what extensions add to a group of routes. */
    offers(route: RouteName): Record<string, string> {
      const offers = extensions.flatMap(({ offers }) => offers?.[route] ?? []);
      return offers.length > 0 ? { "x-sluice-offers": offers.join(", ") } : {};
    },
    async health({ request, env }: Incoming<Env>, host: string, report: Report): Promise<Response> {
      const { healthOf } = await import("./health.js");
      return await healthOf(settings, host, { request, env, log, report });
    },
    user: ({ request, env }: Incoming<Env>) => userOf(authenticate, request, env),
    rate: (asked: Incoming<Env> & { user: User }, route: Route) => checkRate(rateLimit, asked, route),
    /** @throws {Refusal} 500 `misconfigured`; the log names what is wrong, without any value */
    async setup(env: Env, host: string, user: User): Promise<Setup> {
      const reading = [way.open(env, host), read.models(env), read.secrets(env)] as const;
      const [gateway, models, secrets] = await Promise.all(reading);
      const { tenancyOf } = secrets.length > 0 ? await import("./gates/ids.js") : {};
      return { gateway, models, tenancy: tenancyOf?.(secrets, user), keys: gateway.apiKeys };
    },
    body(match: Match, incoming: Incoming<Env> & { user: User }, { models, tenancy }: Setup) {
      const asksUsage = (model: string) => meter !== undefined && (includeUsage ?? hasOwnFields(model));
      const { name, path } = match.route;
      const asked = { ...incoming, route: name, path, ...(isPublic && { isPublic }) };
      return admit(match, asked, { limits, models, fieldsOf, media, tenancy, asksUsage, adaptsSchemas });
    },
    streams: (userId: string) => (isCounted ? countStream(userId) : () => {}),
    /** Reads the headers that are added to a request, and those of their values that no answer may hold. */
    async headers(
      admitted: Admitted<Env>,
      report: Report,
    ): Promise<{ headers: Record<string, string>; keys: string[] }> {
      const isTraced = traceparent !== undefined || report.known.traceparent !== undefined;
      if (!upstreamHeaders && !isTraced) return { headers: {}, keys: [] };
      const { addedHeaders } = await import("./gateway/additions.js");
      return await addedHeaders({ upstreamHeaders, traceparent }, admitted, report);
    },
    call: ({ signal }: Request, { extension }: Route): Call =>
      openCall(signal, extension ? undefined : totalMs),
    async extension(exchange: Exchange<Env>): Promise<Response | undefined> {
      if (!exchange.route.extension && extensions.length === 0) return undefined;
      const { extensionAnswer } = await import("./gateway/additions.js");
      return await extensionAnswer(exchange, { extensions, isMetered: meter !== undefined, headersMs });
    },
    async poll(exchange: Exchange<Env>, { gateway, keys }: Setup, outgoing: Outgoing) {
      const { poll } = await exchange.call.wait(() => import("./gateway/polls.js"), "upstream_unreachable");
      const rules = { flights: polls, memoMs: limits.pollMemoMs, stallMs, keys };
      return await poll(exchange, gateway, outgoing, rules);
    },
    async budget({ admitted, report }: Exchange<Env>): Promise<Account | undefined> {
      if (!meter) return undefined;
      const { openAccount } = await import("./gates/budget.js");
      return await openAccount(meter, admitted, (paid) => {
        Object.assign(report.known, paid);
      });
    },
    /** @throws {Refusal} that of the gateway, or of an extension */
    async answer(
      exchange: Exchange<Env>,
      { keys, tenancy }: Setup,
      response: Response,
      isExtensions: boolean,
    ) {
      const readsStreams = meter !== undefined || stallMs !== undefined;
      const rules = { keys, stallMs, readsStreams, tenancy, extensions };
      if (response.ok) return await passOn(exchange, response, rules, isExtensions);
      const { refusalOf } = await import("./gateway/read-answer.js");
      throw await refusalOf({ response, call: exchange.call }, keys, stallMs);
    },
    async refuse(error: unknown, { request, env }: Incoming<Env>, report: Report): Promise<Response> {
      const { refuse } = await import("./refusals/answers.js");
      return await refuse(refusalIn(error), { request, env, log, report }, { basePath, table, closed });
    },
  };
}
