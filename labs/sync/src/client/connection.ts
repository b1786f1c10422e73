import type { Client } from "@sluice/core";
import { createEventParser } from "@sluice/core/sse";
import type { Copy } from "./copy.js";
import { isObject, isText } from "./json.js";
import { SyncError } from "./sync-error.js";

/** Time limit of a request and its response, in milliseconds. */
const REQUEST_MS = 30_000;
/** Time limit between two chunks of the event stream, in milliseconds. The server sends a comment every 15 s. */
const SILENCE_MS = 45_000;

/** Creates the requests of a client. They reject responses of other servers, and responses for another account. */
export function createConnection(client: Client, copy: Copy) {
  return {
    /**
     * Sends a request and parses its response.
     *
     * @param parse returns undefined for an unexpected shape
     * @throws {SyncError} for each failure
     */
    post: <T>(
      path: string,
      body: object,
      parse: (json: Record<string, unknown>) => T | undefined,
      signal: AbortSignal,
    ): Promise<T> =>
      withDeadline(signal, REQUEST_MS, async (deadline) => {
        const response = await send(`/v1/sync/${path}`, deadline, JSON.stringify(body));
        const json = parseJSON(await rejectOnAbort(response.text(), deadline));
        await checkAccount(response);
        if (!response.ok) throw toError(response, json);
        const parsed = isObject(json) && response.headers.has(ACCOUNT) ? parse(json) : undefined;
        if (parsed === undefined) throw createShapeError(response);
        return parsed;
      }),
    /** Reads the change events until the server ends them. `onEvent` gets the JSON of each event. */
    readEvents: (
      since: string | undefined,
      onEvent: (json: Record<string, unknown>) => void,
      signal: AbortSignal,
    ): Promise<void> =>
      withDeadline(signal, SILENCE_MS, async (deadline, extend) => {
        const query = since === undefined ? "" : `?since=${encodeURIComponent(since)}`;
        const response = await send(`/v1/sync/events${query}`, deadline);
        await checkAccount(response);
        if (!response.ok) throw toError(response, parseJSON(await rejectOnAbort(response.text(), deadline)));
        const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
        if (!isStream || !response.body || !response.headers.has(ACCOUNT)) throw createShapeError(response);
        const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
        let failure: SyncError | undefined;
        const parser = createEventParser({
          onEvent({ event, data }) {
            const json = parseJSON(data);
            if (!isObject(json)) return;
            if (event === "changed") onEvent(json);
            else if (event === "failed")
              failure = new SyncError(
                "temporary",
                String(json["code"]),
                "the server ended the change events",
              );
          },
        });
        try {
          for (;;) {
            const { done, value } = await rejectOnAbort(reader.read(), deadline);
            if (done) return;
            extend();
            parser.push(value);
            if (failure) throw failure;
          }
        } finally {
          reader.cancel().catch(() => {});
        }
      }),
  };

  async function send(path: string, signal: AbortSignal, body?: string): Promise<Response> {
    const headers = await client.headers({ path });
    if (copy.account !== undefined) headers.set(ACCOUNT, copy.account);
    if (body !== undefined) headers.set("content-type", "application/json");
    const { credentials } = client;
    const request = new Request(new URL(client.baseURL + path, globalThis.location?.href), {
      method: body === undefined ? "GET" : "POST",
      ...(body !== undefined && { body }),
      headers,
      signal,
      // a redirect would lead to a login page
      redirect: "manual",
      ...(credentials && { credentials }),
    });
    const response = await rejectOnAbort(client.fetch(request), signal);
    const features = response.headers.get("x-sluice-features") ?? "";
    if (features.split(/[\s,]+/).includes("sync")) return response;
    response.body?.cancel().catch(() => {});
    throw new SyncError("temporary", "not_sync_server", "the response is not from the sync server", {
      ...(response.status > 0 && { status: response.status }),
      ...readRetryAfter(response),
    });
  }

  /** Checks the account of a response before it is used. @throws {SyncError} if the response belongs to another user */
  async function checkAccount(response: Response): Promise<void> {
    const accountOfResponse = response.headers.get(ACCOUNT);
    if (accountOfResponse === null || accountOfResponse === copy.account) return;
    if (copy.account !== undefined) throw createAccountError(response.status);
    if (response.ok) await copy.state.write(new Map([["account", { account: accountOfResponse }]]));
  }

  /** Runs `act` with a signal that aborts with `signal`, or `ms` milliseconds after the start or the last `extend`. */
  async function withDeadline<T>(
    signal: AbortSignal,
    ms: number,
    act: (signal: AbortSignal, extend: () => void) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    signal.addEventListener("abort", abort);
    let timer = new AbortController();
    const extend = () => {
      timer.abort(null);
      timer = new AbortController();
      client.clock.sleep(ms, timer.signal).then(
        () => controller.abort(new SyncError("temporary", "timeout", `no response within ${ms} ms`)),
        () => {},
      );
    };
    extend();
    try {
      return await act(controller.signal, extend);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof SyncError) throw cause;
      if (controller.signal.aborted) throw controller.signal.reason;
      throw new SyncError("temporary", "connection_failed", "the sync server could not be reached", {
        cause,
      });
    } finally {
      signal.removeEventListener("abort", abort);
      timer.abort(null);
    }
  }
}

const ACCOUNT = "x-sluice-account";

/** Rejects as soon as `signal` aborts, because a replaced `fetch` may ignore it. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function createAccountError(status: number): SyncError {
  const text = "another user is signed in: sign out, then open a storage for the new user";
  return new SyncError("account", "account_changed", text, { status });
}

function createShapeError({ status }: Response): SyncError {
  return new SyncError("temporary", "bad_response", "the response has another shape", { status });
}

function toError(response: Response, json: unknown): SyncError {
  const { status } = response;
  const error = isObject(json) && isObject(json["error"]) ? json["error"] : {};
  const { code, message } = error;
  if (code === "account_changed" || code === "user_mismatch") return createAccountError(status);
  if (status === 401 || status === 403)
    return new SyncError("signed-out", "signed_out", "no user is signed in: sign in, then call retryNow()", {
      status,
    });
  if (!isText(code)) return createShapeError(response);
  const isFinal = [400, 404, 409, 413, 422].includes(status) && code !== "account_missing";
  const text = isText(message) ? message : code;
  return new SyncError(isFinal ? "request" : "temporary", code, text, {
    status,
    ...readRetryAfter(response),
  });
}

/** Reads `Retry-After`, in seconds or as a date. */
function readRetryAfter({ headers }: Response): { readonly retryAfterMs?: number } {
  const text = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms > 0 ? { retryAfterMs: ms } : {};
}
