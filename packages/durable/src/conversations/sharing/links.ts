import type { ObjectSQL } from "../../objects/object.js";

/** A link by which users become members. */
export interface Link {
  readonly id: string;
  readonly access: "read" | "write";
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Time from which on it does not work; null for none. */
  readonly endsAt: number | null;
}

/** Opens the links of a conversation whose tables are there. */
export function openLinks(sql: ObjectSQL) {
  return {
    /** Lists those that work. */
    list(now: number): readonly Link[] {
      const query = `SELECT id, access, createdAt, endsAt FROM links ${WORKS} ORDER BY createdAt, id`;
      return sql.exec(query, now).toArray() as unknown as readonly Link[];
    },
    find(hash: string, now: number): Link | undefined {
      const query = `SELECT id, access, createdAt, endsAt FROM links ${WORKS} AND hash = ?`;
      return sql.exec(query, now, hash).toArray()[0] as unknown as Link | undefined;
    },
    add({ id, access, createdAt, endsAt }: Link, hash: string): void {
      sql.exec("DELETE FROM links WHERE endsAt <= ?", createdAt);
      sql.exec("INSERT INTO links VALUES (?, ?, ?, ?, ?)", id, hash, access, createdAt, endsAt);
    },
    /** Returns false where there is none. */
    remove(id: string): boolean {
      const [known] = sql.exec("SELECT 1 FROM links WHERE id = ?", id).toArray();
      if (known) sql.exec("DELETE FROM links WHERE id = ?", id);
      return known !== undefined;
    },
    removeAll(): void {
      sql.exec("DELETE FROM links");
    },
  };
}

const WORKS = "WHERE (endsAt IS NULL OR endsAt > ?)";
