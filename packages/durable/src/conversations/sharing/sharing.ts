import { hashOf, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import type { ObjectState } from "../../objects/object.js";
import type { openCollection } from "../collection.js";
import type { ConversationsSetup } from "../options.js";
import { type CollectionState, type Owner, writeState } from "../record-tables.js";
import { conversationRefusal } from "../refusals.js";
import type { IndexAnswer, IndexRequest } from "../wire.js";
import type { IdAsked, JoinAsked, LinkAsked } from "./checks.js";
import { setDoor } from "./door.js";
import { openJoining } from "./joining.js";
import { openLinks } from "./links.js";
import { type Member, openMembers } from "./members.js";
import { openNames } from "./names.js";
import { randomLetters } from "./random.js";
import { openRights } from "./rights.js";
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

/** Opens the links and members of a conversation. All but the owner's own requests need a member here. */
export function openSharing<Env>(parts: SharingParts<Env>) {
  const { state, env, setup, collection, makeRoom, wakeBy, ask, stopTurnOf } = parts;
  const { sql } = state.storage;
  const links = openLinks(sql);
  const members = openMembers(sql);
  const { current } = collection;
  const names = openNames(sql, members, collection);
  const { show, tell } = openTelling({ sql, members, names, ask, bound, current, endMember });
  const join = openJoining({
    ...{ sharing: setup.sharing, links, members, names, collection, wakeBy, show, report },
  });
  const rights = openRights({
    ...{ isOn: setup.sharing !== undefined, members, names, current },
    refused: (owner, code) => report(owner, code, "refused"),
  });
  const { viewerOf, confirm, memberOf, forget } = rights;
  return { viewerOf, confirm, answer, leave, memberOf, tell, end, erase };

  /** Answers a request about links and members; undefined for any other one. */
  async function answer(
    request: Request,
    owner: Owner,
    viewer: Viewer | undefined,
  ): Promise<Response | undefined> {
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
    forget();
    names.write(by?.name);
    // the owner's devices learn that there are authors now
    collection.restart();
    return share;
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

  /** Ends the membership of the sender, who takes it off the list. */
  function leave(owner: Owner, { me }: Viewer): Response {
    const member = members.byId(me);
    if (member) endMember(member);
    members.drop(me);
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

  /** Ends all members and links, because the conversation is gone. */
  function end(): void {
    forget();
    members.endAll();
    links.removeAll();
  }

  /** Tells everybody that the conversation is gone, before all of it is deleted. @throws {Error} where that fails */
  async function erase(): Promise<void> {
    const known = current();
    if (known) await tell(known);
    forget();
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
