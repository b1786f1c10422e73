import type { openCollection } from "../collection.js";
import type { CollectionState, Owner, Sender } from "../record-tables.js";
import { conversationRefusal } from "../refusals.js";
import type { Member, openMembers } from "./members.js";
import type { Names } from "./names.js";
import { FORMER_ID, OWNER_ID, type Viewer } from "./viewer.js";

interface RightsParts extends Pick<ReturnType<typeof openCollection>, "current"> {
  /** False where the operator has turned sharing off: members have no rights then. */
  readonly isOn: boolean;
  readonly members: ReturnType<typeof openMembers>;
  readonly names: Names;
  refused(owner: Owner, code: string): void;
}

/** Requests that a member with `read` may send. */
const READS = ["GET /records", "GET /follow", "GET /export", "GET /members", "DELETE /members", "DELETE /"];

/** Opens the rights of those that ask for a conversation. */
export function openRights({ isOn, members, names, current, refused }: RightsParts) {
  /** True where the conversation is shared; undefined until that was read, so that it costs a row once. */
  let isShared: boolean | undefined;
  return { viewerOf, confirm, memberOf, forget };

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
    if (!isOn || !member?.access) throw conversationRefusal("conversation_gone");
    if (member.access === "read" && !READS.includes(`${request.method} ${pathname}`)) {
      refused(owner, "read_only");
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

  /** Returns a user as a member, for what the server writes in the name of that user. */
  function memberOf(user: string | undefined, known: CollectionState): Viewer | undefined {
    if (!known.share) return undefined;
    const me = user === undefined || user === known.user ? OWNER_ID : members.find(user)?.id;
    return { me: me ?? FORMER_ID, access: "write" };
  }

  /** Forgets what is in memory: the conversation is shared from now on, or everything is deleted. */
  function forget(): void {
    isShared = undefined;
  }
}
