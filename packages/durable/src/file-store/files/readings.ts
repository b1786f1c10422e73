import { reading } from "../../host/define.js";
import { type CopyRow, type FileRow, selectCopies, selectFiles } from "./tables.js";

/** Number of rows per page. */
const PAGE = 100;

/** Reads a file unless it was removed or has expired. */
export const readFile = reading(
  "files/read",
  async (rows, { id, now }: { readonly id: string; readonly now: number }) =>
    (await selectFiles(rows, "id = ? AND state <> 'removed' AND due_at > ?", id, now))[0],
);

/** Reads the parts of an upload, ordered by number. */
export const readParts = reading("files/parts", ({ key, query }, { id }: { readonly id: string }) =>
  query<{ readonly number: number; readonly etag: string }>(
    "SELECT number, etag FROM file_parts WHERE key = ? AND id = ? ORDER BY number",
    key,
    id,
  ),
);

/** A page of rows. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Cursor of the next page, which may be empty; undefined on the last page. */
  readonly next: string | undefined;
}

/** Reads a page of files, ordered by id. More pages can follow a page with fewer than {@link PAGE} rows. */
export const readPage = reading(
  "files/page",
  async (
    reader,
    { after, now }: { readonly after: string; readonly now: number },
  ): Promise<Page<FileRow>> => {
    const found = await selectFiles(reader, "id > ? ORDER BY id LIMIT ?", after, PAGE);
    const rows = found.filter(({ state, dueAt }) => state !== "removed" && dueAt > now);
    return { rows, next: found[PAGE - 1]?.id };
  },
);

/** Reads a page of pending and finished copies. */
export const readCopies = reading(
  "files/copies",
  async (reader, { after }: { readonly after: string }): Promise<Page<CopyRow>> => {
    const rows = await selectCopies(reader, "source > ? ORDER BY source LIMIT ?", after, PAGE);
    return { rows, next: rows[PAGE - 1]?.source };
  },
);

/** Finds complete files by their ids, and by the sources of the copied files. */
export const findFiles = reading(
  "files/find",
  async (
    reader,
    { ids, sources, now }: { ids: readonly string[]; sources: readonly string[]; now: number },
  ): Promise<readonly FileRow[]> => {
    const findBy = (column: "id" | "source") => (value: string) =>
      selectFiles(reader, `${column} = ? AND state = 'whole' AND due_at > ?`, value, now);
    return (await Promise.all([...ids.map(findBy("id")), ...sources.map(findBy("source"))])).flat();
  },
);
