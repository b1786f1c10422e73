import type { ObjectSQL } from "@sluice/durable/internal";
import { readState } from "./record-tables.js";
import { conversationRefusal } from "./refusals.js";

/** A part of what is read. */
export interface PageAsked {
  /** The version that the device has; 0 for nothing. */
  readonly since: number;
  /** Most records. */
  readonly limit: number;
  /** Most bytes of them, unless the first one is larger. */
  readonly bytes: number;
  /** The `next` of the page before. @default the first page */
  readonly cursor?: string | undefined;
}

/** A part of the records, as JSON. */
export interface Page {
  readonly json: string;
  /** The version up to which a device knows everything that it was told, once it has this page and those before it. */
  readonly version: number;
  /** True where nothing but the listed records is there. */
  readonly isWhole: boolean;
}

/** Largest page, in records and bytes, and the usual one. */
export const MOST_LISTED = 1_000;
export const USUALLY_LISTED = 500;
export const PAGE_BYTES = 4 * 1024 * 1024;

const CURSOR = /^([wd])(\d{1,16})-(\d{1,16})$/;
const NOTHING = '{"version":0,"records":{},"removed":[],"isWhole":true}';

/**
 * Reads what has changed since a version, oldest first; where that is not known one by one any more, the whole, newest
 * first. What changes while pages are read comes after the version of the first one.
 *
 * @param hasTables false for an object that keeps nothing
 * @throws {Refusal} 400 for a cursor that was not given out
 */
export function readPage(sql: ObjectSQL, hasTables: boolean, asked: PageAsked): Page {
  const state = hasTables ? readState(sql) : undefined;
  if (!state || state.goneAt !== null) return { json: NOTHING, version: 0, isWhole: true };
  const place = placeOf(asked, state);
  const listed = place.isWhole ? wholePage(sql, place, asked) : changedPage(sql, place, asked);
  const { isWhole, version } = place;
  const next = listed.end === undefined ? "" : `,"next":"${isWhole ? "w" : "d"}${version}-${listed.end}"`;
  const json = `{"version":${version},"records":{${listed.records}},"removed":${JSON.stringify(listed.removed)},"isWhole":${isWhole}${next}}`;
  // of changes each page says for itself how far it goes
  return { json, version: isWhole ? version : (listed.end ?? version), isWhole };
}

/** The place of a page: the version that all pages show, and the one at which this page begins. */
interface Place {
  readonly isWhole: boolean;
  readonly version: number;
  readonly at: number;
}

function placeOf(
  { since, cursor }: PageAsked,
  { version, floor }: { version: number; floor: number },
): Place {
  if (cursor === undefined) {
    const isWhole = since < floor || since === 0 || since > version;
    return { isWhole, version, at: isWhole ? version + 1 : since };
  }
  const [, kind, shown, at] = CURSOR.exec(cursor) ?? [];
  if (kind === undefined)
    throw conversationRefusal("field_invalid", { what: "cursor: send the `next` of a page" });
  const isWhole = kind === "w";
  // what was removed since is forgotten: the device begins anew
  if (!isWhole && Number(at) < floor) return { isWhole: true, version, at: version + 1 };
  return { isWhole, version: Number(shown), at: Number(at) };
}

interface Listed {
  readonly records: string;
  readonly removed: readonly string[];
  /** The version at which the next page begins; undefined for the last page. */
  readonly end: number | undefined;
}

function wholePage(sql: ObjectSQL, { at }: Place, { limit, bytes }: PageAsked): Listed {
  const heads = sql.exec(
    "SELECT version, bytes FROM records WHERE version < ? ORDER BY version DESC LIMIT ?",
    at,
    limit + 1,
  );
  const { last = at, isMore } = fitting(heads.toArray(), limit, bytes);
  const query =
    "SELECT key, version, value FROM records WHERE version >= ? AND version < ? ORDER BY version DESC";
  return {
    records: jsonOf(sql.exec(query, last, at).toArray()),
    removed: [],
    end: isMore ? last : undefined,
  };
}

function changedPage(sql: ObjectSQL, { at, version }: Place, { limit, bytes }: PageAsked): Listed {
  const heads = sql.exec(
    `SELECT version, bytes FROM records WHERE version > ?1 AND version <= ?2
      UNION ALL SELECT version, bytes FROM removed WHERE version > ?1 AND version <= ?2
      ORDER BY version LIMIT ?3`,
    at,
    version,
    limit + 1,
  );
  const { last = at, isMore } = fitting(heads.toArray(), limit, bytes);
  const within = "WHERE version > ? AND version <= ? ORDER BY version";
  const records = sql.exec(`SELECT key, version, value FROM records ${within}`, at, last).toArray();
  const removed = sql.exec(`SELECT key FROM removed ${within}`, at, last).toArray();
  return {
    records: jsonOf(records),
    removed: removed.map(({ key }) => String(key)),
    end: isMore ? last : undefined,
  };
}

/** Finds the last row that a page has room for. */
function fitting(heads: readonly Record<string, unknown>[], limit: number, most: number) {
  let sum = 0;
  const fits = heads.findIndex(({ bytes }, at) => {
    sum += Number(bytes);
    return at >= limit || (at > 0 && sum > most);
  });
  const count = fits === -1 ? heads.length : fits;
  const last = heads[count - 1]?.["version"] as number | undefined;
  return { last, isMore: count < heads.length };
}

function jsonOf(rows: readonly Record<string, unknown>[]): string {
  return rows
    .map(({ key, version, value }) => `${JSON.stringify(key)}:{"version":${version},"value":${value}}`)
    .join(",");
}
