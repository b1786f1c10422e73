import type { ObjectSQL } from "../../objects/object.js";
import type { openNews } from "../news.js";
import { fieldsOf } from "../texts.js";
import type { IndexAnswer, IndexRequest, Share } from "../wire.js";

/** Conversations of other users that an index lists, each with the JSON of its owner. */
export const SHARED_TABLES: readonly string[] = [
  "CREATE TABLE shared (id TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID",
];

/** Most conversations of one list. */
const PAGE = 100;

interface SharedParts {
  readonly sql: ObjectSQL;
  /** Writes a record of the list, null to remove it. Returns false where there is no room. */
  put(key: string, value: unknown): boolean;
  readonly news: ReturnType<typeof openNews>;
}

/** Opens the conversations of other users in an index whose tables are there. */
export function openSharedWithMe({ sql, put, news }: SharedParts) {
  return { enter, answer, remove, find, list };

  /** Answers what owners' conversations tell and ask. */
  function answer(asked: IndexRequest): IndexAnswer {
    if (asked.do === "shares") return { shares: list(asked.after) };
    if (asked.do === "news" && find(asked.id)) news.note(asked.id, asked.news);
    if (asked.do === "unshared") remove(asked.id);
    return {};
  }

  function enter({ id, owner, record }: IndexRequest & { do: "shared" }, now: number): IndexAnswer {
    const { user, userName, conversation } = owner;
    // the user may have given it another title
    const known = recordOf(id) ?? { title: record.title, createdAt: now, updatedAt: now };
    const revision = Number(known["revision"] ?? 0) + 1;
    const isSame = JSON.stringify(known["shared"]) === JSON.stringify(record.shared);
    const value = { ...known, shared: record.shared, removedAt: undefined, revision };
    if (!isSame && !put(id, value)) return { isFull: true };
    const owned = JSON.stringify({ user, userName, conversation });
    sql.exec("INSERT OR REPLACE INTO shared VALUES (?, ?)", id, owned);
    return {};
  }

  function remove(id: string): void {
    sql.exec("DELETE FROM shared WHERE id = ?", id);
    put(id, null);
    news.forget(id);
  }

  function list(after: string): readonly Share[] {
    const rows = sql.exec("SELECT * FROM shared WHERE id > ? ORDER BY id LIMIT ?", after, PAGE).toArray();
    return rows.map(({ id, owner }) => ({ id: String(id), owner: JSON.parse(String(owner)) }));
  }

  function find(id: string): Share["owner"] | undefined {
    const [row] = sql.exec("SELECT owner FROM shared WHERE id = ?", id).toArray();
    return row && JSON.parse(String(row["owner"]));
  }

  function recordOf(id: string): Readonly<Record<string, unknown>> | undefined {
    const [row] = sql.exec("SELECT value FROM records WHERE key = ?", id).toArray();
    return row && fieldsOf(JSON.parse(String(row["value"])));
  }
}
