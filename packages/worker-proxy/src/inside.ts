import type { ProxyContext, User } from "./api/plugin.js";
import { ensure } from "./refusals/read-option.js";
import type { Server } from "./server.js";

/** A request that the proxy's own parts send in the name of a user. */
type Enter = (request: Request, user: User, env: unknown, context?: ProxyContext) => Promise<Response>;

/** The way into one proxy for code of the operator, without a session. */
interface Inside {
  readonly enter: Enter;
  readonly basePath: string;
  /** True where a chat that is sent again with its `idempotency-key` gives the first answer and costs nothing. */
  readonly keepsChats: boolean;
  /** True where an image or a video task that is sent again with its `idempotency-key` is the first one. */
  readonly keepsCreates: boolean;
  readonly server: Server<never>;
}

/** The client side of the way in: what `createClient` needs to send as one user. */
export interface InnerWay {
  readonly baseURL: string;
  readonly fetch: (request: Request) => Promise<Response>;
  readonly keepsChats: boolean;
  readonly keepsCreates: boolean;
}

/** Only code that has the proxy itself finds its way in: nothing in a request leads here. */
const insides = new WeakMap<object, Inside>();

/** Notes the way into a proxy. */
export function openInside(proxy: object, inside: Inside): void {
  insides.set(proxy, inside);
}

/**
 * Opens the way into a proxy for one user, who was authenticated before: limits, caps, budgets, stored responses and `idempotency()`
 * hold as for the user's own requests. Only routes of the gateway are open.
 *
 * @throws {TypeError} for anything but a proxy of `createProxy` and a user with an id: nothing is sent then
 */
export function innerWay(proxy: object, user: User, env: unknown, context?: ProxyContext): InnerWay {
  const inside = insides.get(proxy);
  ensure(inside, "proxy: give the proxy that createProxy made");
  ensure(
    typeof user?.id === "string" && user.id !== "",
    "user: a request needs the user that it is sent for",
  );
  const { enter, basePath, keepsChats, keepsCreates } = inside;
  return {
    baseURL: `https://inside.invalid${basePath}`,
    fetch: (request) => enter(request, user, env, context),
    keepsChats,
    keepsCreates,
  };
}

/**
 * Returns the server of a proxy.
 *
 * @throws {TypeError} for anything but a proxy of `createProxy`
 */
export function serverOf<Env>(proxy: object): Server<Env> {
  const inside = insides.get(proxy);
  ensure(inside, "proxy: give the proxy that createProxy made");
  return inside.server as unknown as Server<Env>;
}
