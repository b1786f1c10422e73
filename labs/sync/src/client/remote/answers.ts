import { ResponseError } from "@sluice/core";
import { isRecord, parseJSON } from "@sluice/core/extend";
import { excerpt } from "../base.js";

/** A record as the server has it: `value` is undefined for a removed one. */
export interface ServerRecord {
  readonly version: number;
  readonly value: unknown;
}

/** A page of records: a difference, or a part of a whole. */
export interface RecordsPage {
  /** Version of the conversation; that of the first page on all pages of one read. */
  readonly version: number;
  readonly records: ReadonlyMap<string, ServerRecord>;
  /** True if what is on no page is not there. */
  readonly isWhole: boolean;
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Answer to changes. */
export interface ChangesAnswer {
  /** Version of each record that was taken. */
  readonly taken: ReadonlyMap<string, number>;
  /** Records that were changed elsewhere first. */
  readonly kept: ReadonlyMap<string, ServerRecord>;
  /** Records that the server does not take, with its words. */
  readonly refused: ReadonlyMap<string, string>;
}

/** Answer to the request of a lease. */
export interface LeaseAnswer {
  readonly isHeld: boolean;
  /** Version of the conversation, where the server names it. */
  readonly version: number | undefined;
}

/** A lease of a conversation, as an event names it; null for one that is free. */
export type LeaseNews = ReadonlyMap<string, { readonly device: string } | null>;

/** @throws {ResponseError} for what is no page of records */
export function pageIn(text: string): RecordsPage {
  const json = parseJSON(text);
  if (!isRecord(json) || !isVersion(json.version)) throw misfit("version", text);
  const { version, records, removed, isWhole, next } = json;
  if (!isRecord(records)) throw misfit("records", text);
  const all = new Map<string, ServerRecord>();
  if (Array.isArray(removed))
    for (const key of removed) if (typeof key === "string") all.set(key, { version, value: undefined });
  for (const [key, record] of recordsIn(records)) all.set(key, record);
  return { version, records: all, isWhole: isWhole === true, next: isText(next) ? next : undefined };
}

/** @throws {ResponseError} for what is no answer to changes */
export function changesIn(text: string): ChangesAnswer {
  const json = parseJSON(text);
  if (!isRecord(json) || !isRecord(json.taken)) throw misfit("taken", text);
  const { taken, kept, refused } = json;
  return {
    taken: new Map(Object.entries(taken).filter((entry): entry is [string, number] => isVersion(entry[1]))),
    kept: recordsIn(isRecord(kept) ? kept : {}),
    refused: new Map(
      Object.entries(isRecord(refused) ? refused : {}).map(([key, reason]) => [key, wordsOf(reason)]),
    ),
  };
}

/** @throws {ResponseError} for what is no answer about a lease */
export function leaseIn(text: string): LeaseAnswer {
  const json = parseJSON(text);
  if (!isRecord(json) || typeof json.isHeld !== "boolean") throw misfit("isHeld", text);
  return { isHeld: json.isHeld, version: isVersion(json.version) ? json.version : undefined };
}

/** Reads records that a device passes; none where there are none. */
export function passedIn(text: string): ReadonlyMap<string, unknown> {
  const json = parseJSON(text);
  return new Map(isRecord(json) && isRecord(json.records) ? Object.entries(json.records) : []);
}

/** Reads the leases of an event; none where there are none. */
export function leasesIn(text: string): LeaseNews {
  const json = parseJSON(text);
  const all = isRecord(json) && isRecord(json.leases) ? Object.entries(json.leases) : [];
  return new Map(
    all.map(([name, lease]) => [name, isRecord(lease) ? { device: String(lease.device) } : null]),
  );
}

/** Records without a readable version are left out: they would be taken for older than they are. */
function recordsIn(records: Readonly<Record<string, unknown>>): Map<string, ServerRecord> {
  const all = new Map<string, ServerRecord>();
  for (const [key, record] of Object.entries(records))
    if (isRecord(record) && isVersion(record.version))
      all.set(key, { version: record.version, value: record.value ?? undefined });
  return all;
}

function wordsOf(reason: unknown): string {
  const { message, code } = isRecord(reason) ? reason : {};
  return isText(message) ? message : isText(code) ? code : "the server does not take it";
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function misfit(path: string, text: string): ResponseError {
  return new ResponseError(`the answer of the conversations does not fit at ${path}`, {
    path,
    body: excerpt(text),
  });
}
