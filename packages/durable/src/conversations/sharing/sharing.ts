import { hashOf, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import type { ObjectState } from "../../objects/object.js";
import type { openCollection } from "../collection.js";
import type { ConversationsSetup } from "../options.js";
import { type CollectionState, type Owner, type Sender, writeState } from "../record-tables.js";
import { conversationRefusal } from "../refusals.js";
import type { IndexAnswer, IndexRequest } from "../wire.js";
import type { IdAsked, JoinAsked, LinkAsked } from "./checks.js";
import { setDoor } from "./door.js";
import { openLinks } from "./links.js";
import { type Member, openMembers } from "./members.js";
import { randomLetters } from "./random.js";
import { openNames } from "./names.js";
import { openTelling } from "./telling.js";
import { OWNER_ID, type Viewer } from "./viewer.js";

interface SharingParts<Env> {
  readonly state: ObjectState;
  readonly env: Env;
  readonly setup: ConversationsSetup<Env>;
  readonly collection: ReturnType<typeof openCollection>;
  makeRoom(owner: Owner, bytes: number): Promise<() => number>;
  wakeBy(at: number): Promise<void>;
  ask(owner: Pick<Owner, "user" | "userName">, asked: IndexRequest): Promise<IndexAnswer>;
  /** Stops the turn on the server that this user has begun. */
  stopTurnOf(user: string): void;
}

/** Requests that a member with `read` may send. */
const READS = ["GET /records", "GET /follow", "GET /export", "GET /members", "DELETE /members", "DELETE /"];

/** Opens the links and members of a conversation. All but the owner's own requests need a member here. */
export function openSharing<Env>(parts: SharingParts<Env>) {
  const { state, env, setup, collection, makeRoom, wakeBy, ask, stopTurnOf } = parts;
  const { sql } = state.storage;
  const links = openLinks(sql);
  const members = openMembers(sql);
  const { current } = collection;
  const names = openNames(sql, members, collection);
  const { show, tell } = openTelling({ sql, members, names, ask, bound, current, endMember });
  /** True where the conversation is shared; undefined until that was read, so that it costs a row once. */
  let isShared: boolean | undefined;
  return { viewerOf, confirm, answer, leave, memberOf, tell, end, forget };

  /**
   * Returns the sender of a request as a member; undefined for the owner of what was never shared.
   *
   * @throws {Refusal} 410 for anybody else, as where there is no conversation; 403 for a write of a reader
   */
  function viewerOf(request: Request, owner: Owner): Viewer | undefined {
    const { by } = owner;
    const { pathname } = new URL(request.url);
    isShared ??= typeof current()?.share === "string";
    if (!by || by.user === owner.user) return isShared ? { me: OWNER_ID, access: "owner" } : undefined;
    if (pathname === "/join") return undefined;
    const member = isShared ? members.find(by.user) : undefined;
    if (!setup.sharing || !member || !member.access) throw conversationRefusal("conversation_gone");
    if (member.access === "read" && !READS.includes(`${request.method} ${pathname}`)) {
      report(owner, "read_only", "refused");
      throw conversationRefusal("read_only");
    }
    if (member.name !== (by.name ?? null)) rename(member, by);
    return { me: member.id, access: member.access };
  }

  /** Checks again that a member has not been removed while its request waited. @throws {Refusal} 410 */
  function confirm(viewer: Viewer | undefined): void {
    if (viewer && viewer.access !== "owner" && !(current() && members.byId(viewer.me)))
      throw conversationRefusal("conversation_gone");
  }

  function rename(member: Member, { name }: Sender): void {
    members.put({ ...member, name: name ?? null });
    names.write();
  }

  /** Answers a request about links and members; undefined for any other one. */
  async function answer(request: Request, owner: Owner, viewer: Viewer | undefined): Promise<Response | undefined> {
    const step = `${request.method} ${new URL(request.url).pathname}`;
    if (step === "GET /members") return Response.json(listed(viewer));
    if (!["POST /links", "DELETE /links", "DELETE /members", "POST /join"].includes(step)) return undefined;
    const asked = (await request.json()) as unknown;
    if (step === "POST /join") return Response.json(await join(asked as JoinAsked, owner));
    if (step === "DELETE /members") return removeMember(asked as IdAsked, owner, viewer);
    if (viewer && viewer.access !== "owner") throw conversationRefusal("owner_only");
    if (step === "POST /links") return Response.json(await makeLink(asked as LinkAsked, owner));
    if (current() && links.remove((asked as IdAsked).id)) report(owner, "link_removed");
    return new Response(null, { status: 204 });
  }

  function listed(viewer: Viewer = { me: OWNER_ID, access: "owner" }): object {
    const shown = current() ? members.list() : [];
    const own = { id: OWNER_ID, ...names.of(OWNER_ID), access: "owner" };
    return {
      me: viewer.me,
      access: viewer.access,
      members: [
        own,
        ...shown.map(({ id, name, access, joinedAt }) => ({ id, ...(name && { name }), access, joinedAt })),
      ],
      ...(viewer.access === "owner" && { links: current() ? links.list(Date.now()) : [] }),
    };
  }

  async function makeLink({ access, ms }: LinkAsked, owner: Owner): Promise<object> {
    const { mostLinks } = setup.sharing ?? { mostLinks: 0 };
    const [id, secret] = [randomLetters(), randomLetters()];
    const hash = await hashOf(secret);
    (await makeRoom(owner, 0))();
    const share = beginSharing(owner);
    await setDoor(await bound(), share, owner);
    const createdAt = Date.now();
    if (current()?.goneAt !== null) throw conversationRefusal("conversation_gone");
    if (links.list(createdAt).length >= mostLinks)
      throw conversationRefusal("too_many_links", { what: mostLinks });
    const link = { id, access, createdAt, endsAt: ms === undefined ? null : createdAt + ms };
    links.add(link, hash);
    report(owner, "link_made");
    return { ...link, token: `${share.slice(1)}${secret}` };
  }

  /** Gives the conversation the id under which others have it, once. Returns it. */
  function beginSharing({ by }: Owner): string {
    const known = current() as CollectionState;
    if (known.share) {
      names.write(by?.name);
      return known.share;
    }
    const share = `~${randomLetters()}`;
    writeState(sql, { ...known, share });
    isShared = true;
    names.write(by?.name);
    // the owner's devices learn that there are authors now
    collection.restart();
    return share;
  }

  /** Makes the sender a member, or gives a member the rights of one more link. A repeat changes nothing. */
  async function join({ hash }: JoinAsked, owner: Owner): Promise<object> {
    const by = owner.by as Sender;
    const known = current();
    const now = Date.now();
    const isThere = setup.sharing && known?.goneAt === null && known.share;
    const link = isThere ? links.find(hash, now) : undefined;
    if (!isThere || !link) {
      report(owner, "link_unknown", "refused");
      throw conversationRefusal("link_unknown");
    }
    if (by.user === owner.user) return { id: owner.conversation, access: "owner" };
    const had = members.find(by.user);
    const { mostMembers } = setup.sharing ?? { mostMembers: 0 };
    if (!had && members.list().length >= mostMembers) {
      report(owner, "too_many_members", "refused");
      throw conversationRefusal("too_many_members", { what: mostMembers });
    }
    const access = had?.access === "write" ? "write" : link.access;
    const isNews = !had || had.access !== access;
    const id = had?.id ?? randomLetters();
    const member: Member = {
      ...{ id, user: by.user, userName: by.userName, name: by.name ?? null, access, isListed: 0 },
      ...{ joinedAt: had?.joinedAt ?? now, told: had?.told ?? known.news },
    };
    members.put(member);
    void wakeBy(now);
    if (isNews) {
      names.write();
      collection.restart(id);
      report(owner, "joined");
    }
    await list(known, member);
    return { id: isThere, access };
  }

  /** Lists the conversation in the index of a member. An alarm does where that fails. @throws {Refusal} where it has no room */
  async function list(known: CollectionState, member: Member): Promise<void> {
    const answer = await show(known, member).catch(() => ({ isFull: false }));
    if (!answer.isFull) return;
    members.end(member.id);
    names.write();
    throw conversationRefusal("space_exceeded");
  }

  function removeMember({ id }: IdAsked, owner: Owner, viewer: Viewer | undefined): Response {
    const isOwner = !viewer || viewer.access === "owner";
    if (!isOwner && viewer.me !== id) throw conversationRefusal("owner_only");
    const member = current() ? members.byId(id) : undefined;
    if (!member) return new Response(null, { status: 204 });
    // a link that the user may still have would lead back at once
    if (isOwner) links.removeAll();
    endMember(member);
    report(owner, isOwner ? "member_removed" : "left", "complete", member.user);
    return new Response(null, { status: 204 });
  }

  /** Ends the membership of the sender. */
  function leave(owner: Owner, { me }: Viewer): Response {
    const member = members.byId(me);
    if (member) endMember(member);
    report(owner, "left");
    return Response.json({});
  }

  /** Ends all rights of a member at once: streams, leases, and the turn on the server. */
  function endMember({ id, user }: Member): void {
    members.end(id);
    names.write();
    collection.endOf(id);
    stopTurnOf(user);
    void wakeBy(Date.now());
  }

  /** Returns a user as a member, for what the server writes in the name of that user. */
  function memberOf(user: string | undefined, known: CollectionState): Viewer | undefined {
    if (!known.share) return undefined;
    const me = user === undefined || user === known.user ? OWNER_ID : members.find(user)?.id;
    return { me: me ?? OWNER_ID, access: "write" };
  }

  /** Ends all members and links, because the conversation is gone. */
  function end(): void {
    forget();
    members.endAll();
    links.removeAll();
  }

  /** Forgets what is in memory, because everything is deleted. */
  function forget(): void {
    isShared = undefined;
  }

  async function bound() {
    return await readBinding("conversations", setup.namespace, env);
  }

  function report(
    { user, conversation: id, by }: Owner,
    code: string,
    outcome: "complete" | "refused" = "complete",
    member?: string,
  ): void {
    const sender = by?.user ?? user;
    const about = { ...(sender !== user && { owner: user }), ...(member !== undefined && { member }) };
    notifyOf(setup.onEvent, { kind: "conversation", id, outcome, code, user: sender, ...about }, env);
  }
}
