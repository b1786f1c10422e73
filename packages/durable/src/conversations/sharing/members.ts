import type { ObjectSQL } from "../../objects/object.js";

/** A member of a conversation, beside its owner. */
export interface Member {
  /** Random letters that stand for the user in this conversation alone. */
  readonly id: string;
  readonly user: string;
  readonly userName: string;
  readonly name: string | null;
  /** Empty for a member that has none any more, until the index of that user knows it. */
  readonly access: "read" | "write" | "";
  /** Unix milliseconds. */
  readonly joinedAt: number;
  /** 1 once the index of the user lists the conversation with this access. */
  readonly isListed: 0 | 1;
  /** Version of the newest message that the index of the user knows of. */
  readonly told: number;
}

/** Opens the members of a conversation whose tables are there. */
export function openMembers(sql: ObjectSQL) {
  const read = (where: string, ...values: unknown[]) =>
    sql.exec(`SELECT * FROM members ${where}`, ...values).toArray() as unknown as readonly Member[];
  return {
    /** Finds the member of a user; undefined for one without access. */
    find: (user: string): Member | undefined => read("WHERE user = ? AND access <> ''", user)[0],
    byId: (id: string): Member | undefined => read("WHERE id = ? AND access <> ''", id)[0],
    list: () => read("WHERE access <> '' ORDER BY joinedAt, id"),
    /** Lists those whose indexes have to be told something. */
    behind: (news: number) => read("WHERE access = '' OR isListed = 0 OR told < ?", news),
    put({ id, user, userName, name, access, joinedAt, isListed, told }: Member): void {
      sql.exec("DELETE FROM members WHERE user = ?", user);
      const put = "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
      sql.exec(put, id, user, userName, name, access, joinedAt, isListed, told);
    },
    end(id: string): void {
      sql.exec("UPDATE members SET access = '' WHERE id = ?", id);
    },
    endAll(): void {
      sql.exec("UPDATE members SET access = ''");
    },
    /** Forgets a member without access, unless the user has come back. */
    drop(id: string): void {
      sql.exec("DELETE FROM members WHERE id = ? AND access = ''", id);
    },
    /** Notes what the index of a user knows, unless the member has other rights by now. */
    noteListed({ id, access }: Member): void {
      sql.exec("UPDATE members SET isListed = 1 WHERE id = ? AND access = ?", id, access);
    },
    noteTold(id: string, told: number): void {
      sql.exec("UPDATE members SET told = ? WHERE id = ?", told, id);
    },
  };
}
