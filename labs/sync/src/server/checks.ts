import type { AdmittedRequest } from "@sluice/worker-proxy";
import type { LeaseAsked, PassAsked, WriteAsked } from "./collection.js";
import type { FollowAsked } from "./followers.js";
import { MOST_LEASES } from "./leases.js";
import { MOST_LISTED, PAGE_BYTES, type PageAsked, USUALLY_LISTED } from "./reading.js";
import { conversationRefusal } from "./refusals.js";
import { INDEX_ID } from "./wire.js";
import { bytesOf, type Change } from "./writing.js";

/* What a device sends, checked before it reaches an object. */

const MOST_BYTES = 8 * 1024 * 1024;
const PASS_BYTES = 256 * 1024;
/** Shortest and longest time of a lease, and longest wait for one, in milliseconds. */
const LEASE_MS = { least: 1_000, most: 60_000, wait: 30_000 };
/** Most letters of a question to the search, and most matches. */
const QUESTION = { letters: 200, matches: 100 };
const USUAL_MATCHES = 20;

/** Reads the app's id of a conversation from a path. @throws {Refusal} 400 */
export function conversationIn({ id = "" }: Pick<AdmittedRequest, "id">): string {
  const named = decoded(id);
  if (named === INDEX_ID) return named;
  // neither control characters nor spaces: what looks alike is alike
  if (named === undefined || named.length > 128 || !/^[^\p{C}\p{Z}~][^\p{C}\p{Z}]*$/u.test(named))
    throw conversationRefusal("id_invalid");
  return named;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

export function pageIn({ request }: AdmittedRequest<never>): PageAsked {
  const { since, limit, cursor } = queryOf(request);
  return {
    since: whole("since", since, 0),
    limit: Math.min(MOST_LISTED, Math.max(1, whole("limit", limit, USUALLY_LISTED))),
    bytes: PAGE_BYTES,
    cursor,
  };
}

export function followIn({ request }: AdmittedRequest<never>): FollowAsked {
  const { since, device } = queryOf(request);
  const seen = request.headers.get("last-event-id") || since;
  return { since: whole("since", seen, 0), device: device === undefined ? undefined : deviceIn({ device }) };
}

export function searchIn({ request }: AdmittedRequest<never>): {
  readonly q: string;
  readonly limit: number;
} {
  const { q = "", limit } = queryOf(request);
  if (q.length > QUESTION.letters) throw wrong(`q: send at most ${QUESTION.letters} letters`);
  const most = Math.max(1, whole("limit", limit, USUAL_MATCHES));
  return { q, limit: Math.min(QUESTION.matches, most) };
}

export function writeIn({ body = {} }: AdmittedRequest<never>): WriteAsked {
  const { changes, lease, release = [] } = body;
  const all = entriesOf("changes", changes).map(([key, change]): [string, Change] => {
    const { value, seen, sent } = { ...(change as Partial<Change>) };
    if (value === undefined)
      throw wrong(`changes: ${key.slice(0, 100)}: value is missing; null removes a record`);
    const version = whole(`changes: ${key.slice(0, 100)}: seen`, seen, undefined);
    return [key, { value, seen: version, ...(sent !== undefined && { sent }) }];
  });
  if (!Array.isArray(release) || release.length > MOST_LEASES)
    throw wrong(`release: send at most ${MOST_LEASES} names of leases`);
  const bytes = bytesOf(JSON.stringify(changes));
  if (bytes > MOST_BYTES) throw conversationRefusal("records_too_large", { what: MOST_BYTES });
  const held = lease !== undefined && { lease: textIn("lease", lease, 128) };
  return {
    device: deviceIn(body),
    changes: Object.fromEntries(all),
    bytes: bytes + all.length * 32,
    release: release.map((name) => textIn("release", name, 128)),
    ...held,
  };
}

export function passIn({ body = {} }: AdmittedRequest<never>): PassAsked {
  const { records } = body;
  entriesOf("records", records);
  if (bytesOf(JSON.stringify(records)) > PASS_BYTES)
    throw conversationRefusal("records_too_large", { what: PASS_BYTES });
  return { device: deviceIn(body), records };
}

export function leaseIn({ body = {} }: AdmittedRequest<never>): LeaseAsked {
  const { name, ms, wait } = body;
  const lasts = whole("ms", ms, undefined);
  if (lasts < LEASE_MS.least || lasts > LEASE_MS.most)
    throw wrong(`ms: send ${LEASE_MS.least} to ${LEASE_MS.most}`);
  const waits = Math.min(LEASE_MS.wait, whole("wait", wait, 0));
  return { device: deviceIn(body), name: textIn("name", name, 128), ms: lasts, wait: waits };
}

export function releaseIn({ body = {} }: AdmittedRequest<never>): Pick<LeaseAsked, "device" | "name"> {
  return { device: deviceIn(body), name: textIn("name", body["name"], 128) };
}

function queryOf({ url }: Request): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(new URL(url).searchParams);
}

function entriesOf(name: string, value: unknown): [string, unknown][] {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(`${name}: send an object of records by key`);
  return Object.entries(value);
}

function deviceIn({ device }: Readonly<Record<string, unknown>>): string {
  if (typeof device !== "string" || !/^[\w-]{1,64}$/.test(device)) throw wrong("device: send its random id");
  return device;
}

function textIn(name: string, value: unknown, most: number): string {
  if (typeof value !== "string" || value === "" || value.length > most)
    throw wrong(`${name}: send 1 to ${most} characters`);
  return value;
}

/** Reads a whole number from 0 up, of a query or a body. */
function whole(name: string, value: unknown, usual: number | undefined): number {
  if (value === undefined && usual !== undefined) return usual;
  const isText = typeof value === "string" && /^\d{1,16}$/.test(value);
  const number = isText ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 0)
    throw wrong(`${name}: send a whole number from 0 up`);
  return number;
}

function wrong(what: string) {
  return conversationRefusal("field_invalid", { what });
}
