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
  /** True while the file may still be had: it can be downloaded, opened and copied. */
  readonly isUsable: boolean;
  /** Key of the element: a new one loads the file again. */
  readonly attempt: number;
  /** Takes the `load` event of the element. */
  readonly onShown: () => void;
  /** Takes the `error` event of the element. */
  readonly onFailed: (event: { readonly currentTarget: Element }) => void;
  /** Notes that its server said that the file is gone. */
  readonly onGone: () => void;
  /** Loads the file anew. */
  readonly retry: () => void;
}

/** Finding of a request for the file: its server refused it for good, sent it, or did not. */
type Finding = "gone" | "there" | "unknown";

interface LinkState {
  readonly url: string;
  readonly phase: Exclude<LinkPhase, "expired">;
  readonly attempt: number;
  /** Failures since the file was last loaded anew. */
  readonly failures: number;
  /** True once the file was there and its element failed. A second time, this browser can't show it. */
  readonly wasThere: boolean;
}

type LinkEvent = { readonly url: string } & (
  | { readonly type: "shown" | "repeated" | "restarted" }
  | { readonly type: "failed"; readonly attempt: number; readonly finding: Finding }
);

/** Number of times that a file is loaded again by a timer alone. */
const MAX_RETRIES = 6;
const FIRST_DELAY_MS = 2000;
/** Statuses that say that a file is not there, or that its link has ended. */
const GONE = new Set([403, 404, 410]);
const CHECK_MS = 15_000;

/**
 * Follows a link to a file. A failed load alone says nothing about the file: its server is asked.
 *
 * @param expiresAt expiry of the link if it is known; Unix milliseconds
 */
export function useMediaLink(url: string, expiresAt?: number): MediaLink {
  const [known, send] = useReducer(next, url, begin);
  const state = known.url === url ? known : begin(url);
  const isOver = useNow(1000, expiresAt !== undefined) >= (expiresAt ?? Number.POSITIVE_INFINITY);
  const { attempt } = state;
  const retry = useCallback(() => send({ url, type: "restarted" }), [url]);
  useHealing(state, retry, send);
  return {
    phase: isOver ? "expired" : state.phase,
    isUsable: !isOver && state.phase !== "gone",
    attempt,
    retry,
    onShown: () => send({ url, type: "shown" }),
    onGone: () => send({ url, type: "failed", attempt, finding: "gone" }),
    onFailed({ currentTarget }) {
      const isCutOff = currentTarget instanceof HTMLMediaElement && currentTarget.error?.code === 2;
      void find(url).then((finding) =>
        send({
          url,
          type: "failed",
          attempt,
          finding: isCutOff && finding === "there" ? "unknown" : finding,
        }),
      );
    },
  };
}

function begin(url: string): LinkState {
  return { url, phase: "loading", attempt: 0, failures: 0, wasThere: false };
}

function next(known: LinkState, event: LinkEvent): LinkState {
  const state = known.url === event.url ? known : begin(event.url);
  switch (event.type) {
    case "shown":
      return { ...state, phase: "shown" };
    case "repeated":
      return { ...state, attempt: state.attempt + 1 };
    case "restarted":
      return { ...state, attempt: state.attempt + 1, failures: 0, wasThere: false };
    case "failed":
      return event.attempt === state.attempt ? afterFailure(state, event.finding) : state;
  }
}

function afterFailure(state: LinkState, finding: Finding): LinkState {
  if (finding === "gone") return { ...state, phase: "gone" };
  if (finding === "unknown") return { ...state, phase: "unloadable", failures: state.failures + 1 };
  // the network may have come back in between
  return state.wasThere
    ? { ...state, phase: "unplayable" }
    : { ...state, attempt: state.attempt + 1, wasThere: true };
}

/** Loads a file again after a while, when the network is back, and when the page is seen again. */
function useHealing(
  { url, phase, failures }: LinkState,
  restart: () => void,
  send: (event: LinkEvent) => void,
): void {
  const mayHeal = phase !== "loading" && phase !== "shown";
  useEffect(() => {
    if (!mayHeal) return;
    const onVisible = () => document.visibilityState === "visible" && restart();
    addEventListener("online", restart);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      removeEventListener("online", restart);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [mayHeal, restart]);
  useEffect(() => {
    if (phase !== "unloadable" || failures > MAX_RETRIES) return;
    const timer = setTimeout(() => send({ url, type: "repeated" }), FIRST_DELAY_MS * 2 ** (failures - 1));
    return () => clearTimeout(timer);
  }, [phase, failures, url, send]);
}

/** Requests a file, and reads only the headers: a signed link may allow only GET. */
async function find(url: string): Promise<Finding> {
  const reading = new AbortController();
  try {
    const { ok, status } = await fetch(url, {
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.any([reading.signal, AbortSignal.timeout(CHECK_MS)]),
    });
    if (ok) return "there";
    return GONE.has(status) ? "gone" : "unknown";
  } catch {
    return "unknown";
  } finally {
    reading.abort();
  }
}
