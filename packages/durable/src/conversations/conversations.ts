import type { Admitted, Extension, ExtensionRoute } from "@sluice/worker-proxy";
import { hashOf, markKept, notifyOf, Refusal, readBinding } from "@sluice/worker-proxy/internal";
import { checkLeavingIsReported } from "../hosts/cloudflare.js";
import { askObject, classOf, type DurableObjectClass } from "../objects/object.js";
import { conversationIn, followIn, leaseIn, pageIn, passIn, releaseIn, searchIn, writeIn } from "./checks.js";
import { openConversation } from "./conversation.js";
import { type ConversationsOptions, checkedConversations } from "./options.js";
import type { Owner } from "./record-tables.js";
import { conversationRefusal } from "./refusals.js";
import type { TurnAsked } from "./running.js";
import { idIn, joinIn, linkIn, senderOf } from "./sharing/checks.js";
import { answerAtDoor, createDoors, isToDoor } from "./sharing/door.js";
import { streamOf, upgradeHeaders } from "./sockets.js";
import { createUserData } from "./user-data.js";
import { openUserIndex } from "./user-index.js";
import { askIndex, INDEX_ID, isShare, objectOf, ownerOf, requestTo } from "./wire.js";

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
      fetch: async (request) =>
        isToDoor(request)
          ? await answerAtDoor(state.storage, request)
          : await (isIndex(request) ? index : conversation).fetch(request),
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
 * - `POST /v1/conversations/{id}/schedules` has a turn start later, where the `runner` has schedules; `GET` lists them.
 * - `DELETE /v1/conversations/{id}` removes a conversation for good, `GET …/export` gives all its records.
 * - `GET /v1/conversations/~index/search` finds titles and texts.
 * - With `sharing`, `POST` and `DELETE` of `…/links`, `GET` and `DELETE` of `…/members` and
 *   `POST /v1/conversations/~index/join` let other users in.
 *
 * The guide is [Conversations](https://github.com/YOUR-ACCOUNT/YOUR-REPOSITORY/blob/main/docs/guides/conversations.md).
 *
 * @throws {TypeError} when an option can't work; the message says what to give
 * @example
 * ```ts
 * const kept: ConversationsOptions<Env> = { namespace: (env) => env.CONVERSATIONS };
 * export const Conversations = conversationsObject<Env>(kept);
 * export default createProxy<Env>({
 *   ...options,
 *   routes: ["chat", "conversations"],
 *   extensions: [conversations<Env>(kept)],
 * });
 * ```
 */
export function conversations<Env = unknown>(options: ConversationsOptions<Env>): Extension<Env> {
  const setup = checkedConversations(options);
  const { namespace, runner, sharing } = setup;
  const bound = (env: Env) => readBinding("conversations", namespace, env);
  const doors = createDoors();
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
      ...(sharing ? shares() : []),
      ...(runner?.hasSchedules ? schedules() : []),
    ],
  };

  /** The paths of links and members. */
  function shares(): readonly ExtensionRoute<Env>[] {
    return [
      route("GET", "/members", [], () => []),
      { ...route("DELETE", "/members", [], (asked) => [undefined, idIn(asked)]), takesBody: true },
      route("POST", "/links", [], (asked) => [undefined, linkIn(asked)]),
      { ...route("DELETE", "/links", [], (asked) => [undefined, idIn(asked)]), takesBody: true },
      // `rateLimit` counts it as a request, so that nobody tries many
      { ...route("POST", "/join", [], async (asked) => [undefined, await joinIn(asked)]), isFree: false },
    ];
  }

  /** The paths of the runner. A turn costs: `rateLimit` counts it as a request. */
  function turns(): readonly ExtensionRoute<Env>[] {
    const begin = route("POST", "/turns", [], turnIn);
    return [{ ...begin, isFree: false }, route("DELETE", "/turns", [], () => [])];
  }

  /** The paths of the schedules. */
  function schedules(): readonly ExtensionRoute<Env>[] {
    return [
      route("GET", "/schedules", [], () => []),
      { ...route("POST", "/schedules", [], turnIn), isFree: false },
      route("DELETE", "/schedules", ["schedule"], ({ request }) => [
        { schedule: new URL(request.url).searchParams.get("schedule") },
      ]),
    ];
  }

  function turnIn({ body, user, headers }: Admitted<never>): [undefined, TurnAsked] {
    return [undefined, { body: body ?? {}, user, requestId: headers?.["x-request-id"] }];
  }

  /** @param check reads the question and the body of what an object is asked */
  function route(
    method: ExtensionRoute["method"],
    path: string,
    query: readonly string[],
    check: (asked: Admitted<never>) => Checked | Promise<Checked>,
  ): ExtensionRoute<Env> {
    return { name: "conversations", method, path: `${PATH}${path}`, id: "named", query, isFree: true, serve };

    async function serve(asked: Admitted<Env>): Promise<Response> {
      const id = conversationIn(asked, sharing !== undefined);
      // the index has no end, and nothing else has a search or joins
      const isOfIndex = OF_INDEX.includes(path);
      if (id === INDEX_ID ? NOT_OF_INDEX.includes(path) : isOfIndex) throw conversationRefusal("id_invalid");
      const [question, body] = await check(asked as Admitted<never>);
      const owner = await ownerFor(asked, path === "/join" ? (body as { share: string }).share : id);
      const address = `${path || "/"}${question ? `?${encodeURIComponent(JSON.stringify(question))}` : ""}`;
      const { env, request } = asked;
      if (path === "") return await remove(asked, id, owner);
      if (!owner) throw refusalFor(asked, path);
      const init = {
        method,
        signal: request.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      const isStream = path === "/follow";
      if (isStream) checkLeavingIsReported();
      const headers = isStream ? upgradeHeaders() : {};
      const object = objectOf(await bound(env), owner);
      const said = await askObject(object, requestTo(owner, address, { ...init, headers }));
      const answer = isStream ? streamOf(said, request.signal) : said;
      return markKept(answer, { isReplayed: false, isOwn: true });
    }
  }

  /** Returns the owner of a conversation, and the sender; undefined where an id of a shared one leads nowhere. */
  async function ownerFor({ env, user }: Admitted<Env>, id: string): Promise<Owner | undefined> {
    const by = await senderOf(user);
    if (!isShare(id))
      return { user: user.id, userName: by.userName, conversation: id, ...(sharing && { by }) };
    const owner = await doors(await bound(env), id);
    return owner && { ...owner, by };
  }

  /** Refuses what leads nowhere as what leads to a conversation that the user is no member of. */
  function refusalFor({ env, user }: Admitted<Env>, path: string) {
    if (path !== "/join") return conversationRefusal("conversation_gone");
    const event = { kind: "conversation", id: INDEX_ID, outcome: "refused", code: "link_unknown" } as const;
    notifyOf(setup.onEvent, { ...event, user: user.id }, env);
    return conversationRefusal("link_unknown");
  }

  /** Removes a conversation for good; of another user's, the sender leaves. */
  async function remove(
    { env, user }: Admitted<Env>,
    id: string,
    owner: Owner | undefined,
  ): Promise<Response> {
    const namespace = await bound(env);
    const gone = (error: unknown) => {
      if (!isShare(id) || !(error instanceof Refusal)) throw error;
    };
    if (owner)
      await askObject(objectOf(namespace, owner), requestTo(owner, "/", { method: "DELETE" }))
        .then(({ body }) => body?.cancel())
        .catch(gone);
    const userName = await hashOf(user.id);
    if (isShare(id)) await askIndex(namespace, { user: user.id, userName }, { do: "unshared", id });
    return new Response(null, { status: 204 });
  }
}

/** The question and the body of a request to an object. */
type Checked = [question?: unknown, body?: unknown];

/** Paths of the index alone, and paths that it does not have. */
const OF_INDEX = ["/search", "/join"];
const NOT_OF_INDEX = ["", "/turns", "/schedules", "/members", "/links"];
