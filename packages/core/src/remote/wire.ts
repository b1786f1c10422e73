import { idle, within } from "../base/clock.js";
import type { Client } from "../client.js";
import { connectionError } from "../transport/failure.js";
import { offersIn } from "../transport/offers.js";
import { errorOf } from "../transport/refusal.js";
import { requestOnce } from "../transport/request-once.js";
import { APIError, isGatewayError } from "../vocabulary/errors.js";
import {
  type ChangesAnswer,
  changesIn,
  type LeaseAnswer,
  leaseIn,
  pageIn,
  type RecordsPage,
} from "./answers.js";

/** Longest time of a request, in milliseconds: it ends by itself a little earlier. */
const LONGEST_MS = 31_000;

/** A change that is sent: `null` removes the record. */
export interface SentChange {
  readonly value: unknown;
  /** Version of the record that the change knows; 0 for a new one. */
  readonly seen: number;
}

/** Requests to the part `conversations()` of the proxy. Each sends once, and throws the errors of this library. */
export interface Wire {
  /** Random id of this page's storage, by which a server tells its devices apart. */
  readonly device: string;
  /** True once an answer has said that the proxy keeps conversations. */
  readonly isOffered: boolean;
  /** Reads a page of what has changed since a version; of all records without one, the newest first. */
  read(id: string, from: { readonly since?: number; readonly cursor?: string }): Promise<RecordsPage>;
  change(id: string, changes: ReadonlyMap<string, SentChange>): Promise<ChangesAnswer>;
  /** Removes a conversation for good. */
  remove(id: string): Promise<void>;
  /** Shows records to those who follow, without keeping them. Returns the number of others, where the server names it. */
  pass(id: string, records: ReadonlyMap<string, unknown>): Promise<number | undefined>;
  /** Takes a lease, or renews it. */
  lease(id: string, name: string, ms: number): Promise<LeaseAnswer>;
  release(id: string, name: string): Promise<void>;
}

/** Address of a conversation's records, leases and events. */
export function pathOf(id: string, part: string): string {
  return `/v1/conversations/${encodeURIComponent(id)}${part}`;
}

/** Creates the requests of one page. */
export function createWire(client: Client, device: string): Wire {
  const wire = { device, isOffered: false, read, change, remove, pass, lease, release };
  return wire;

  function read(id: string, { since, cursor }: { readonly since?: number; readonly cursor?: string }) {
    const query = new URLSearchParams();
    if (since) query.set("since", String(since));
    if (cursor !== undefined) query.set("cursor", cursor);
    return ask(pathOf(id, `/records${query.size > 0 ? `?${query}` : ""}`), {}, pageIn);
  }

  function change(id: string, changes: ReadonlyMap<string, SentChange>) {
    return post(pathOf(id, "/records"), { changes: Object.fromEntries(changes) }, changesIn);
  }

  function remove(id: string) {
    return ask(pathOf(id, ""), { method: "DELETE" }, () => {});
  }

  function pass(id: string, records: ReadonlyMap<string, unknown>) {
    return post(pathOf(id, "/pass"), { records: Object.fromEntries(records) }, (_, { headers }) => {
      const others = headers.get("x-sluice-followers");
      return others === null ? undefined : Number(others);
    });
  }

  function lease(id: string, name: string, ms: number) {
    return post(pathOf(id, "/leases"), { name, ms }, leaseIn);
  }

  function release(id: string, name: string) {
    // also from a page that is closed
    const init = { method: "DELETE", keepalive: true };
    return post(pathOf(id, "/leases"), { name }, () => {}, init);
  }

  function post<T>(
    path: string,
    body: object,
    use: (text: string, response: Response) => T,
    init: RequestInit = { method: "POST" },
  ): Promise<T> {
    const headers = { "content-type": "application/json" };
    return ask(path, { ...init, headers, body: JSON.stringify({ device, ...body }) }, use);
  }

  async function ask<T>(
    path: string,
    init: RequestInit,
    use: (text: string, response: Response) => T,
  ): Promise<T> {
    try {
      const answer = requestOnce(client, path, init, async (response) => {
        note(response);
        if (!response.ok) throw await errorOf(response, client, new AbortController().signal);
        return use(client.scrub(await response.text()), response);
      });
      // a `fetch` of the app's own may ignore the end of the request
      return await within(idle(client.clock), LONGEST_MS, answer, "the server");
    } catch (cause) {
      throw isGatewayError(cause) ? cause : connectionError(cause);
    }
  }

  function note({ headers }: Response): void {
    if (offersIn(headers)?.includes(OFFER)) wire.isOffered = true;
  }
}

/** True for a conversation that was removed for good. */
export function isGone(error: unknown): boolean {
  return error instanceof APIError && error.apiCode === "conversation_gone";
}

/** True for the refusal of a write by a user that may only read. */
export function isReadOnlyRefusal(error: unknown): boolean {
  return error instanceof APIError && error.apiCode === "read_only";
}

/** Name of the part in `x-sluice-offers`. */
export const OFFER = "conversations";
