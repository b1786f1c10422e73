import { APIError, type Client, isGatewayError } from "@sluice/core";
import { awaitWithin, readRefusal, requestOnce, toConnectionError, toIdleClock } from "@sluice/core/extend";
import { parseOffers } from "../base.js";
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

/** Most bytes of all requests that outlive a page: browsers allow 64 KiB, also for those of others. */
const KEPT_BYTES = 60 * 1024;
/** Bytes of a body beside its changes. */
const DEVICE_BYTES = 100;

/** A change that is sent: `null` removes the record. */
export interface SentChange {
  readonly value: unknown;
  /** Version of the record that the change knows; 0 for a new one. */
  readonly seen: number;
  /** Value of this page that is on its way, and may have come first; absent where there is none. */
  readonly sent?: unknown;
}

/** Requests to the part `conversations()` of the proxy. Each sends once, and throws the errors of this library. */
export interface Wire {
  /** Random id of this page's storage, by which a server tells its devices apart. */
  readonly device: string;
  /** True once an answer has said that the proxy keeps conversations. */
  readonly isOffered: boolean;
  /** True from the moment on in which the page is closed or frozen: what is small then outlives the page. */
  isLeaving: boolean;
  /** Reads a page of what has changed since a version; of all records without one, the newest first. */
  read(id: string, from: { readonly since?: number; readonly cursor?: string }): Promise<RecordsPage>;
  /**
   * Sends changes.
   *
   * @param release leases that the server gives back after the changes, unless it does not take all of them
   */
  change(
    id: string,
    changes: ReadonlyMap<string, SentChange>,
    release?: readonly string[],
  ): Promise<ChangesAnswer>;
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
  /** Bytes of requests that may still outlive the page. */
  let spare = KEPT_BYTES;
  const wire = { device, isOffered: false, isLeaving: false, read, change, remove, pass, lease, release };
  return wire;

  function read(id: string, { since, cursor }: { readonly since?: number; readonly cursor?: string }) {
    const query = new URLSearchParams();
    if (since) query.set("since", String(since));
    if (cursor !== undefined) query.set("cursor", cursor);
    return ask(pathOf(id, `/records${query.size > 0 ? `?${query}` : ""}`), {}, pageIn);
  }

  function change(
    id: string,
    changes: ReadonlyMap<string, SentChange>,
    release: readonly string[] = [],
  ): Promise<ChangesAnswer> {
    const body = { changes: Object.fromEntries(changes), ...(release.length > 0 && { release }) };
    const path = pathOf(id, "/records");
    // a request that outlives its page may have 64 KiB, together with all others that do
    const bytes = wire.isLeaving
      ? new TextEncoder().encode(JSON.stringify(body)).byteLength + DEVICE_BYTES
      : 0;
    if (bytes === 0 || bytes > spare) return post(path, body, changesIn);
    spare -= bytes;
    return post(path, body, changesIn, { method: "POST", keepalive: true }).finally(() => {
      spare += bytes;
    });
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
        if (!response.ok) throw await readRefusal(response, client, new AbortController().signal);
        return use(client.scrub(await response.text()), response);
      });
      // a `fetch` of the app's own may ignore the end of the request
      return await awaitWithin(toIdleClock(client.clock), LONGEST_MS, answer, "the server");
    } catch (cause) {
      throw isGatewayError(cause) ? cause : toConnectionError(cause);
    }
  }

  function note({ headers }: Response): void {
    if (parseOffers(headers)?.includes(OFFER)) wire.isOffered = true;
  }
}

/** True for a conversation that was removed for good. */
export function isGone(error: unknown): boolean {
  return error instanceof APIError && error.code === "conversation_gone";
}

/** Name of the part in `x-sluice-offers`. */
export const OFFER = "conversations";
