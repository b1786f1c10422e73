import type { DurableObjectClass } from "@sluice/durable";
import { askObject, checkLeavingIsReported, classOf } from "@sluice/durable/internal";
import type { AdmittedRequest, PluginRoute, ProxyPlugin } from "@sluice/worker-proxy";
import { hashOf, markKept, readBinding } from "@sluice/worker-proxy/internal";
import { conversationIn, followIn, leaseIn, pageIn, passIn, releaseIn, searchIn, writeIn } from "./checks.js";
import { openConversation } from "./conversation.js";
import { type ConversationsOptions, checkedConversations } from "./options.js";
import { conversationRefusal } from "./refusals.js";
import type { TurnAsked } from "./running.js";
import { streamOf, upgradeHeaders } from "./sockets.js";
import { createUserData } from "./user-data.js";
import { openUserIndex } from "./user-index.js";
import { INDEX_ID, objectOf, ownerOf, requestTo } from "./wire.js";

/**
 * Makes the class of Durable Objects that keep conversations: one object for each, and one for each user with the list, the
 * space and the search.
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 * @example
 * ```ts
 * export const Conversations = conversationsObject<Env>({ namespace: (env) => env.CONVERSATIONS });
 * ```
 */
export function conversationsObject<Env = unknown>(
  options: ConversationsOptions<Env>,
): DurableObjectClass<Env> {
  const setup = checkedConversations(options);
  return classOf((state, env) => {
    const index = openUserIndex(state, env, setup);
    const conversation = openConversation(state, env, setup);
    const isIndex = (request: Request) => ownerOf(request)?.conversation === INDEX_ID;
    return {
      fetch: (request) => (isIndex(request) ? index : conversation).fetch(request),
      alarm: () => (index.exists() ? index : conversation).alarm(),
      // both find the place of a device in the socket
      webSocketMessage: (socket, message) =>
        (index.exists() ? index : conversation).webSocketMessage?.(socket, message),
      webSocketClose: (socket) => conversation.webSocketClose?.(socket),
    };
  });
}

/** Paths of one conversation, below `/v1`. */
const PATH = "/v1/conversations/{id}";

/**
 * Keeps the conversations of each user on the server, so that they are on all devices: records with versions, of which
 * nobody overwrites a newer one, live events, leases, search and export. It opens the group `conversations`.
 *
 * - `GET /v1/conversations/{id}/records` reads what has changed since a version; `POST` writes.
 * - `GET /v1/conversations/{id}/follow` is the stream of changes.
 * - `POST /v1/conversations/{id}/pass` shows records to other devices without keeping them.
 * - `POST /v1/conversations/{id}/leases` takes or renews a lease, `DELETE` gives it back.
 * - `DELETE /v1/conversations/{id}` removes a conversation for good, `GET …/export` gives all its records.
 * - `GET /v1/conversations/~index/search` finds titles and texts.
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 * @example
 * ```ts
 * const kept: ConversationsOptions<Env> = { namespace: (env) => env.CONVERSATIONS };
 * export const Conversations = conversationsObject<Env>(kept);
 * export default createProxy<Env>({
 *   ...options,
 *   plugins: [conversations<Env>(kept)],
 * });
 * ```
 */
export function conversations<Env = unknown>(options: ConversationsOptions<Env>): ProxyPlugin<Env> {
  const setup = checkedConversations(options);
  const { namespace, runner } = setup;
  const bound = (env: Env) => readBinding("conversations", namespace, env);
  const offer = "conversations";
  return {
    checks: [bound],
    offers: { conversations: offer, health: offer },
    userData: createUserData(bound),
    routes: [
      route("GET", "/records", ["since", "limit", "cursor"], (asked) => [pageIn(asked)]),
      route("POST", "/records", [], (asked) => [undefined, writeIn(asked)]),
      route("GET", "/follow", ["since", "device"], (asked) => [followIn(asked)]),
      route("POST", "/pass", [], (asked) => [undefined, passIn(asked)]),
      route("POST", "/leases", [], (asked) => [undefined, leaseIn(asked)]),
      { ...route("DELETE", "/leases", [], (asked) => [undefined, releaseIn(asked)]), takesBody: true },
      route("GET", "/search", ["q", "limit"], (asked) => [searchIn(asked)]),
      route("GET", "/export", [], () => []),
      route("DELETE", "", [], () => []),
      ...(runner ? turns() : []),
    ],
  };

  /** The paths of the runner. A turn costs: `rateLimit` counts it as a request. */
  function turns(): readonly PluginRoute<Env>[] {
    const begin = route("POST", "/turns", [], turnIn);
    return [{ ...begin, isFree: false }, route("DELETE", "/turns", [], () => [])];
  }

  function turnIn({ body, user, headers }: AdmittedRequest<never>): [undefined, TurnAsked] {
    return [undefined, { body: body ?? {}, user, requestId: headers?.["x-request-id"] }];
  }

  /** @param check reads the question and the body of what an object is asked */
  function route(
    method: PluginRoute["method"],
    path: string,
    query: readonly string[],
    check: (asked: AdmittedRequest<never>) => Checked | Promise<Checked>,
  ): PluginRoute<Env> {
    return { name: "conversations", method, path: `${PATH}${path}`, id: "named", query, isFree: true, serve };

    async function serve(asked: AdmittedRequest<Env>): Promise<Response> {
      const id = conversationIn(asked);
      // the index has no end and no turns, and nothing else has a search
      if (id === INDEX_ID ? ["", "/turns"].includes(path) : path === "/search")
        throw conversationRefusal("id_invalid");
      const [question, body] = await check(asked as AdmittedRequest<never>);
      const address = `${path || "/"}${question ? `?${encodeURIComponent(JSON.stringify(question))}` : ""}`;
      const { env, request, user } = asked;
      const owner = { user: user.id, userName: await hashOf(user.id), conversation: id };
      const object = objectOf(await bound(env), owner);
      if (path === "") {
        await (await askObject(object, requestTo(owner, "/", { method }))).body?.cancel();
        return new Response(null, { status: 204 });
      }
      const init = {
        method,
        signal: request.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      const isStream = path === "/follow";
      if (isStream) checkLeavingIsReported();
      const headers = isStream ? upgradeHeaders() : {};
      const said = await askObject(object, requestTo(owner, address, { ...init, headers }));
      const answer = isStream ? streamOf(said, request.signal) : said;
      return markKept(answer, { isReplayed: false, isOwn: true });
    }
  }
}

/** The question and the body of a request to an object. */
type Checked = [question?: unknown, body?: unknown];
