import type { ObjectNamespace } from "@sluice/durable";
import type { UserData } from "@sluice/worker-proxy";
import { hashOf } from "@sluice/worker-proxy/internal";
import { MOST_LISTED, PAGE_BYTES } from "./reading.js";
import type { Owner } from "./record-tables.js";
import { askIndex, ERASE, INDEX_ID, type Listed, objectOf, requestTo } from "./wire.js";

/** Most of one export, in letters: the conversations after it are in it without their records. */
const EXPORTED = 7 * 1024 * 1024;

/** A conversation in an export. */
interface Exported {
  readonly id: string;
  /** Absent where the export was full. */
  readonly records?: Readonly<Record<string, unknown>>;
}

/** Makes the access to all that is kept of a user. */
export function createUserData<Env>(bound: (env: Env) => Promise<ObjectNamespace>): UserData<Env> {
  return { name: "conversations", eraseUser, exportUser };

  async function eraseUser(env: Env, userId: string): Promise<void> {
    const namespace = await bound(env);
    const user = await ownerFor(userId);
    const failed = new Set<string>();
    for (;;) {
      const { isKnown } = await askIndex(namespace, user, { do: "erase" });
      if (!isKnown) return;
      for await (const listed of pagesOf(namespace, user)) {
        const erased: Listed[] = [];
        for (const one of listed)
          await erase(namespace, { ...user, conversation: one.id }).then(
            () => erased.push(one),
            () => failed.add(one.id),
          );
        await askIndex(namespace, user, { do: "forget", listed: erased });
      }
      // what began meanwhile is erased by the next round
      if (failed.size > 0) throw new Error(`${failed.size} conversations could not be erased`);
    }
  }

  async function erase(namespace: ObjectNamespace, owner: Owner): Promise<void> {
    const answer = await objectOf(namespace, owner).fetch(new Request(ERASE, { method: "POST" }));
    if (!answer.ok) throw new Error(`it answered with ${answer.status}`);
  }

  async function exportUser(env: Env, userId: string): Promise<unknown> {
    const namespace = await bound(env);
    const user = await ownerFor(userId);
    const all: Exported[] = [];
    let left = EXPORTED;
    for await (const id of idsOf(namespace, user)) await add(id, { ...user, conversation: id });
    return all;

    /** Adds all records of a conversation. */
    async function add(id: string, owner: Owner): Promise<void> {
      const records: Record<string, unknown> = {};
      for await (const page of recordsOf(namespace, owner)) {
        if (left > 0) left -= page.length;
        if (left <= 0) break;
        for (const [key, { value }] of Object.entries(parsedPage(page).records)) records[key] = value;
      }
      all.push(left > 0 ? { id, records } : { id });
    }
  }
}

async function ownerFor(user: string): Promise<Owner> {
  return { user, userName: await hashOf(user), conversation: INDEX_ID };
}

async function* pagesOf(namespace: ObjectNamespace, user: Owner): AsyncGenerator<readonly Listed[]> {
  for (let after = ""; ; ) {
    const { listed = [] } = await askIndex(namespace, user, { do: "list", after });
    const last = listed.at(-1);
    if (!last) return;
    yield listed;
    after = last.id;
  }
}

async function* idsOf(namespace: ObjectNamespace, user: Owner): AsyncGenerator<string> {
  yield INDEX_ID;
  for await (const listed of pagesOf(namespace, user)) yield* listed.map(({ id }) => id);
}

async function* recordsOf(namespace: ObjectNamespace, owner: Owner): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const question = { since: 0, limit: MOST_LISTED, bytes: PAGE_BYTES, cursor };
    const address = `/records?${encodeURIComponent(JSON.stringify(question))}`;
    const answer = await objectOf(namespace, owner).fetch(requestTo(owner, address));
    if (!answer.ok) throw new Error(`the conversation ${owner.conversation} answered with ${answer.status}`);
    const page = await answer.text();
    yield page;
    cursor = parsedPage(page).next;
  } while (cursor !== undefined);
}

function parsedPage(json: string) {
  return JSON.parse(json) as {
    readonly records: Readonly<Record<string, { value: unknown }>>;
    readonly next?: string;
  };
}
