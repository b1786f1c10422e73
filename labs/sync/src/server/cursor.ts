import { SyncFailure } from "./failure.js";

/** The commit that a cursor names, and the record up to which a pull of several pages has come. */
export type Cursor = {
  readonly version: number;
  readonly tag: string;
  /** Version and id of the last record of a page. */
  readonly after?: readonly [version: number, record: string];
};

/** The cursor of a user without commits. */
export const START: Cursor = { version: 0, tag: "0" };

export function formatCursor({ version, tag, after }: Cursor): string {
  return `${version}.${tag}${after ? ` ${after[0]} ${after[1]}` : ""}`;
}

/**
 * Parses a cursor.
 *
 * @param canContinue true for a pull, which takes a cursor between two pages
 * @throws {SyncFailure} for any other text
 */
export function parseCursor(value: unknown, canContinue = false): Cursor {
  const text = typeof value === "string" && value.length < 400 ? value : "";
  const [, version, tag = "", at, record = ""] =
    /^(\d{1,15})\.([0-9a-z]{1,16})(?: (\d{1,15}) ([^\0]*))?$/.exec(text) ?? [];
  if (version === undefined || (at !== undefined && !canContinue)) throw new SyncFailure("invalid_cursor");
  return { version: Number(version), tag, ...(at !== undefined && { after: [Number(at), record] }) };
}
