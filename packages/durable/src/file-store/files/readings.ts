import { reading } from "../../host/define.js";
import { type CopyRow, type FileRow, selectCopies, selectFiles } from "./tables.js";

/** Number of rows of a page. */
const PAGE = 100;

/** Reads a file that its user may see. */
export const readFile = reading(
  "files/read",
  async (rows, { id, now }: { readonly id: string; readonly now: number }) =>
    (await selectFiles(rows, "id = ? AND state <> 'removed' AND due_at > ?", id, now))[0],
);

/** Reads the parts of an upload, in their order. */
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
  /** The cursor of the next page, which may be empty; undefined after the last one. */
  readonly next: string | undefined;
}

/** Reads a page of files by the primary key. It may be shorter than another one, and more may follow. */
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

/** Reads a page of results that are to be copied, or were. */
export const readCopies = reading(
  "files/copies",
  async (reader, { after }: { readonly after: string }): Promise<Page<CopyRow>> => {
    const rows = await selectCopies(reader, "source > ? ORDER BY source LIMIT ?", after, PAGE);
    return { rows, next: rows[PAGE - 1]?.source };
  },
);

/** Finds whole files by their ids, and by the files of the gateway that they are copies of. */
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
