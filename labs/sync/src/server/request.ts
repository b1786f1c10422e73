import {
  type AdmittedRequest,
  type BoundHost,
  hashText,
  type JSONValue,
  type PluginRoute,
  Refusal,
  readBody,
} from "@sluice/worker-proxy/plugin";
import { createRefusal } from "./refusal.js";

/** The header that names the account of a request and of a response. */
const ACCOUNT = "x-sluice-account";
const ACCOUNT_CHARACTERS = 32;
/** Maximum size of a body in bytes, and time limit for its arrival in milliseconds. */
const BODY = { maxBytes: 2 * 1024 * 1024, ms: 30_000 };

/** A request of a user, whose account was checked. */
export interface SyncRequest<Env> {
  readonly host: BoundHost;
  readonly key: string;
  readonly account: string;
  readonly admitted: AdmittedRequest<Env>;
  readonly body: Readonly<Record<string, unknown>>;
}

interface RouteOptions extends Partial<Pick<PluginRoute, "method" | "query" | "isFree">> {
  /** True if the request needs the header of the account. @default true */
  readonly needsAccount?: boolean;
}

/** Returns the key of a user's rows. It is a digest, because logs and dashboards show the keys of Durable Objects. */
export async function createKey(userId: string): Promise<string> {
  return `user:${await hashText(userId)}`;
}

/**
 * Creates a route. It checks the account first, and names the account in each response. The account is a hash, which hides
 * an id that can't be guessed. It does not depend on a secret of the proxy, because a new secret would stop every device.
 *
 * @param serve returns the JSON of the response, or the response
 */
export function createRoute<Env>(
  host: (env: Env) => BoundHost,
  path: string,
  serve: (request: SyncRequest<Env>) => Promise<JSONValue | Response>,
  { needsAccount = true, ...options }: RouteOptions = {},
): PluginRoute<Env> {
  return {
    ...({ name: "sync", method: "POST", id: "own", isRaw: true, isFree: true } as const),
    ...options,
    path: `/v1/sync/${path}`,
    async serve(admitted) {
      const { request, user, env } = admitted;
      const account = (await hashText(`sluice sync account\n${user.id}`)).slice(0, ACCOUNT_CHARACTERS);
      try {
        const requestAccount = request.headers.get(ACCOUNT);
        if (requestAccount === null && needsAccount) throw createRefusal("account_missing");
        if (requestAccount !== null && requestAccount !== account) throw createRefusal("account_changed");
        const body = (await readBody(request, BODY)) ?? {};
        const key = await createKey(user.id);
        const result = await serve({ host: host(env), key, account, admitted, body });
        const response = result instanceof Response ? result : Response.json(result);
        response.headers.set(ACCOUNT, account);
        return response;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const { reason, details } = error;
        throw new Refusal(reason, { ...details, headers: { ...details.headers, [ACCOUNT]: account } });
      }
    },
  };
}
