import type { ObjectNamespace, ObjectSQL } from "../../objects/object.js";
import { newsFor } from "../news.js";
import { type CollectionState, type Owner, writeState } from "../record-tables.js";
import type { IndexAnswer, IndexRequest } from "../wire.js";
import { setDoor } from "./door.js";
import type { Member, openMembers } from "./members.js";
import type { Names } from "./names.js";
import { OWNER_ID } from "./viewer.js";

interface TellingParts {
  readonly sql: ObjectSQL;
  readonly members: ReturnType<typeof openMembers>;
  readonly names: Names;
  ask(owner: Pick<Owner, "user" | "userName">, asked: IndexRequest): Promise<IndexAnswer>;
  bound(): Promise<ObjectNamespace>;
  current(): CollectionState | undefined;
  endMember(member: Member): void;
}

/** Opens what a conversation tells the indexes of its members. */
export function openTelling({ sql, members, names, ask, bound, current, endMember }: TellingParts) {
  return { show, tell };

  /** Lists the conversation in the index of a member. */
  async function show(known: CollectionState, member: Member): Promise<IndexAnswer> {
    const { access } = member;
    if (access === "" || known.share === null) return {};
    const { title = "" } = await ask(known, { do: "title", id: known.conversation });
    const { name: owner } = names.of(OWNER_ID);
    const record = { title, shared: { access, ...(owner && { owner }) } };
    const answer = await ask(member, { do: "shared", id: known.share, owner: known, record });
    if (!answer.isFull) members.noteListed(member);
    return answer;
  }

  /**
   * Tells the indexes of members what they have to know, and removes the door of a conversation that is gone. It can be repeated.
   *
   * @throws {Error} where one could not be told
   */
  async function tell(known: CollectionState): Promise<void> {
    if (!known.share) return;
    const told = await Promise.allSettled(members.behind(known.news).map((member) => tellOne(known, member)));
    if (told.some(({ status }) => status === "rejected"))
      throw new Error("the index of a member could not be told");
    if (known.goneAt === null) return;
    await setDoor(await bound(), known.share);
    const now = current();
    if (now) writeState(sql, { ...now, share: null });
  }

  async function tellOne(known: CollectionState, member: Member): Promise<void> {
    const { share: id } = known;
    if (id === null) return;
    if (member.access === "") {
      await ask(member, { do: "unshared", id });
      return members.drop(member.id);
    }
    if (!member.isListed && (await show(known, member)).isFull) return endMember(member);
    const news = newsFor(member.id, known);
    if (news.at > member.told) await ask(member, { do: "news", id, news });
    members.noteTold(member.id, known.news);
  }
}
