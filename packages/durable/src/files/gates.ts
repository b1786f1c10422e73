import type { AdmittedRequest, ProxyContext, ProxyOptions, User } from "@sluice/worker-proxy";
import {
  checkedOptions,
  checkOrigin,
  checkRate,
  corsHeadersOf,
  find,
  type Match,
  matchFor,
  openReport,
  preflight,
  type Route,
  refusalIn,
  refuse,
  userOf,
} from "@sluice/worker-proxy/internal";

/** A request for a file: its path and origin are checked, and its body is unread. */
export interface FileRequest<Env> extends Pick<AdmittedRequest<Env>, "request" | "env" | "context"> {
  /** The id in the path, as it was sent; empty where the path has none. */
  readonly sentId: string;
  /** The cursor of a page; empty for the first one. */
  readonly cursor: string;
  /** The path before `/v1`. */
  readonly basePath: string;
  /**
   * Leads the request through the gates of the caller: `authenticate`, then `rateLimit`.
   *
   * @throws {Refusal} the reason for which it does not pass
   */
  signIn(): Promise<User>;
}

/** One path of files. It decides itself if it calls `signIn`: a link needs none. */
export interface FileRoute<Env> extends Pick<Route, "name" | "path"> {
  readonly method: "GET" | "HEAD" | "POST" | "PATCH" | "DELETE";
  /** True where the query may be `?cursor=<id>`. @default false */
  readonly isPaged?: boolean;
  take(file: FileRequest<Env>): Promise<Response>;
}

const CURSOR = /\?cursor=([\w-]{1,64})$/;

/**
 * Leads requests for files through the proxy's own gates. The bodies of these paths are no JSON, so that they are not
 * those of an extension.
 *
 * @returns a function that returns the answer; undefined for all other paths
 */
export function createGates<Env>(options: ProxyOptions<Env>, routes: readonly FileRoute<Env>[]) {
  const { basePath, authenticate, rateLimit, credentials, onEvent, read, log } = checkedOptions(options);
  const table = { basePath, table: routes as unknown as readonly Route[] };
  return async (request: Request, env: Env, context?: ProxyContext): Promise<Response | undefined> => {
    const found = find(request.url, table);
    if (found.matches.length === 0) return undefined;
    const { cursor, hasQuery } = cursorIn(request, found.matches);
    const report = openReport(request, (event) => onEvent?.(event, env, context));
    report.known.route = "media";
    let cors: Record<string, string> = { vary: "Origin" };
    let response: Response;
    try {
      const origin = request.headers.get("origin");
      const allowed = await read.origins(env);
      cors = corsHeadersOf(origin, allowed, credentials);
      checkOrigin(request, allowed);
      const isPreflight = request.method === "OPTIONS" && origin !== null;
      response = isPreflight
        ? preflight(request, found.methods)
        : await taken(matchFor(request, { ...found, hasQuery: found.hasQuery && hasQuery }));
      if (!isPreflight) report.end(response.status);
    } catch (error) {
      response = await refuse(refusalIn(error), { request, env, log, report });
    }
    const isKept = response.headers.has("cache-control");
    const own = { "x-content-type-options": "nosniff", ...(!isKept && { "cache-control": "no-store" }) };
    for (const [name, value] of Object.entries({ ...cors, ...own })) response.headers.set(name, value);
    return response;

    async function taken({ route, sentId = "" }: Match): Promise<Response> {
      const { take } = route as unknown as FileRoute<Env>;
      return await take({ request, env, context, sentId, cursor, basePath, signIn });

      async function signIn(): Promise<User> {
        const user = await userOf(authenticate, request, env);
        report.known.user = user.id;
        await checkRate(rateLimit, { request, env, user }, route);
        return user;
      }
    }
  };
}

/** Reads the cursor of a page. `hasQuery` is true where the address may have another query, which is refused. */
function cursorIn({ url, method }: Request, matches: readonly Match[]) {
  const isPaged = matches.some(
    ({ route }) => route.method === method && (route as { isPaged?: true }).isPaged,
  );
  const cursor = isPaged ? CURSOR.exec(url)?.[1] : undefined;
  return { cursor: cursor ?? "", hasQuery: cursor === undefined };
}
