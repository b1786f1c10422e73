import type { ObjectSQL } from "../../objects/object.js";
import type { openCollection } from "../collection.js";
import { writeRecords } from "../writing.js";
import type { openMembers } from "./members.js";
import { MEMBERS, OWNER_ID } from "./viewer.js";

/** The names of the owner and the members, in a record of the conversation: their devices show authors by it. */
export type Names = ReturnType<typeof openNames>;

/** Opens the names of a conversation. A user that is no member any more has none. */
export function openNames(
  sql: ObjectSQL,
  members: ReturnType<typeof openMembers>,
  { current, wake }: Pick<ReturnType<typeof openCollection>, "current" | "wake">,
) {
  return { write, of };

  function write(ownerName = of(OWNER_ID).name): void {
    const named = members.list().flatMap(({ id, name }) => (name ? [[id, name]] : []));
    const names = Object.fromEntries([...(ownerName ? [[OWNER_ID, ownerName]] : []), ...named]);
    const change = { value: { names }, seen: Number.MAX_SAFE_INTEGER };
    const bounds = { mostRecords: Number.POSITIVE_INFINITY, mostBytes: Number.POSITIVE_INFINITY };
    const { changed } = writeRecords(sql, { [MEMBERS]: change }, bounds, Date.now());
    if (changed.length > 0) wake();
  }

  function of(id: string): { readonly name?: string } {
    if (!current()) return {};
    const [row] = sql.exec("SELECT value FROM records WHERE key = ?", MEMBERS).toArray();
    const { names = {} } = row
      ? (JSON.parse(String(row["value"])) as { names?: Record<string, string> })
      : {};
    const name = names[id];
    return name === undefined ? {} : { name };
  }
}
