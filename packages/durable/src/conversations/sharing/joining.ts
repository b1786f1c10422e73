import type { openCollection } from "../collection.js";
import type { CollectionState, Owner, Sender } from "../record-tables.js";
import { conversationRefusal } from "../refusals.js";
import type { IndexAnswer } from "../wire.js";
import type { JoinAsked } from "./checks.js";
import type { openLinks } from "./links.js";
import type { Member, openMembers } from "./members.js";
import type { Names } from "./names.js";
import type { SharingSetup } from "./options.js";
import { randomLetters } from "./random.js";

interface JoiningParts {
  readonly sharing: SharingSetup | undefined;
  readonly links: ReturnType<typeof openLinks>;
  readonly members: ReturnType<typeof openMembers>;
  readonly names: Names;
  readonly collection: ReturnType<typeof openCollection>;
  wakeBy(at: number): Promise<void>;
  /** Lists the conversation in the index of a member. */
  show(known: CollectionState, member: Member): Promise<IndexAnswer>;
  report(owner: Owner, code: string, outcome?: "complete" | "refused"): void;
}

/** Opens the way in by a link. */
export function openJoining(parts: JoiningParts) {
  const { sharing, links, members, names, collection, wakeBy, show, report } = parts;
  return join;

  /** Makes the sender a member, or gives a member the rights of one more link. A repeat changes nothing. */
  async function join({ hash }: JoinAsked, owner: Owner): Promise<object> {
    const by = owner.by as Sender;
    const known = collection.current();
    const now = Date.now();
    const isThere = sharing && known?.goneAt === null && known.share;
    const link = isThere ? links.find(hash, now) : undefined;
    if (!isThere || !link) {
      report(owner, "link_unknown", "refused");
      throw conversationRefusal("link_unknown");
    }
    if (by.user === owner.user) return { id: owner.conversation, access: "owner" };
    const had = members.find(by.user);
    const { mostMembers } = sharing ?? { mostMembers: 0 };
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
}
