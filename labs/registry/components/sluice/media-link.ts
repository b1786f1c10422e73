import { useCallback, useEffect, useReducer } from "react";
import { useNow } from "@/components/sluice/use-now";

/**
 * Phase of a link to a file.
 *
 * - `loading`: its element loads
 * - `shown`: its element shows it
 * - `unloadable`: it could not be loaded, but may exist; it is loaded again automatically
 * - `unplayable`: the file exists, but this browser can't show it
 * - `gone`: its server responds that the file no longer exists
 * - `expired`: the link has expired
 */
export type LinkPhase = "loading" | "shown" | "unloadable" | "unplayable" | "gone" | "expired";

/** A link to a file that an element shows. */
export interface MediaLink {
  readonly phase: LinkPhase;
  /** True while the file may exist, so that the user can download, open and copy it. */
  readonly isUsable: boolean;
  /** Key of the element: a new one loads the file again. */
  readonly attempt: number;
  /** Handler of the element's `load` event. */
  readonly onShown: () => void;
  /** Handler of the element's `error` event. */
  readonly onFailed: (event: { readonly currentTarget: Element }) => void;
  /** Reports that the server no longer has the file. */
  readonly onGone: () => void;
  /** Loads the file anew. */
  readonly retry: () => void;
}

/** State of a file at its server. */
type FileState = "available" | "gone" | "unknown";

interface LinkState {
  readonly url: string;
  readonly phase: Exclude<LinkPhase, "expired">;
  readonly attempt: number;
  /** Failures since the file was last loaded anew. */
  readonly failures: number;
  /** True once the element failed although the file was available. After a second time, this browser can't show it. */
  readonly wasAvailable: boolean;
}

type LinkEvent = { readonly url: string } & (
  | { readonly type: "shown" | "repeated" | "restarted" }
  | { readonly type: "failed"; readonly attempt: number; readonly file: FileState }
);

/** Maximum number of reloads by a timer. */
const MAX_RETRIES = 6;
const FIRST_DELAY_MS = 2000;
/** Statuses for a file that does not exist, or a link that has expired. */
const GONE = new Set([403, 404, 410]);
const CHECK_MS = 15_000;

/**
 * Tracks how a link to a file loads. A failed load alone says nothing about the file, so the hook requests the file.
 *
 * @param expiresAt expiry of the link if it is known; Unix milliseconds
 */
export function useMediaLink(url: string, expiresAt?: number): MediaLink {
  const [stored, send] = useReducer(reduce, url, createState);
  // a new URL begins with a new state
  const state = stored.url === url ? stored : createState(url);
  const isExpired = useNow(1000, expiresAt !== undefined) >= (expiresAt ?? Number.POSITIVE_INFINITY);
  const { attempt } = state;
  const retry = useCallback(() => send({ url, type: "restarted" }), [url]);
  useReloads(state, retry, send);
  return {
    phase: isExpired ? "expired" : state.phase,
    isUsable: !isExpired && state.phase !== "gone",
    attempt,
    retry,
    onShown: () => send({ url, type: "shown" }),
    onGone: () => send({ url, type: "failed", attempt, file: "gone" }),
    onFailed({ currentTarget }) {
      // 2: the network failed (MEDIA_ERR_NETWORK)
      const isCutOff = currentTarget instanceof HTMLMediaElement && currentTarget.error?.code === 2;
      void checkFile(url).then((file) =>
        send({
          url,
          type: "failed",
          attempt,
          file: isCutOff && file === "available" ? "unknown" : file,
        }),
      );
    },
  };
}

function createState(url: string): LinkState {
  return { url, phase: "loading", attempt: 0, failures: 0, wasAvailable: false };
}

function reduce(stored: LinkState, event: LinkEvent): LinkState {
  const state = stored.url === event.url ? stored : createState(event.url);
  switch (event.type) {
    case "shown":
      return { ...state, phase: "shown" };
    case "repeated":
      return { ...state, attempt: state.attempt + 1 };
    case "restarted":
      return { ...state, attempt: state.attempt + 1, failures: 0, wasAvailable: false };
    case "failed":
      return event.attempt === state.attempt ? afterFailure(state, event.file) : state;
  }
}

/** Returns the state after a failed load. Only the second failure of an available file means that it is unplayable. */
function afterFailure(state: LinkState, file: FileState): LinkState {
  if (file === "gone") return { ...state, phase: "gone" };
  if (file === "unknown") return { ...state, phase: "unloadable", failures: state.failures + 1 };
  // the network may have come back in between
  return state.wasAvailable
    ? { ...state, phase: "unplayable" }
    : { ...state, attempt: state.attempt + 1, wasAvailable: true };
}

/** Loads a file again after a delay, when the network is back, and when the page is visible again. */
function useReloads(
  { url, phase, failures }: LinkState,
  restart: () => void,
  send: (event: LinkEvent) => void,
): void {
  const canReload = phase !== "loading" && phase !== "shown";
  useEffect(() => {
    if (!canReload) return;
    const onVisible = () => document.visibilityState === "visible" && restart();
    addEventListener("online", restart);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      removeEventListener("online", restart);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [canReload, restart]);
  useEffect(() => {
    if (phase !== "unloadable" || failures > MAX_RETRIES) return;
    const timer = setTimeout(() => send({ url, type: "repeated" }), FIRST_DELAY_MS * 2 ** (failures - 1));
    return () => clearTimeout(timer);
  }, [phase, failures, url, send]);
}

/** Requests a file, and reads only the headers: a signed link may allow only GET. */
async function checkFile(url: string): Promise<FileState> {
  const reading = new AbortController();
  try {
    const { ok, status } = await fetch(url, {
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.any([reading.signal, AbortSignal.timeout(CHECK_MS)]),
    });
    if (ok) return "available";
    return GONE.has(status) ? "gone" : "unknown";
  } catch {
    return "unknown";
  } finally {
    reading.abort();
  }
}
