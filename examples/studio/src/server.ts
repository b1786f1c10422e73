import { atom } from "nanostores";
import { startService } from "../demo/hosted/start.js";

declare global {
  interface ImportMetaEnv {
    /** Address of the gateway's proxy, where it is not the server of this page. */
    readonly VITE_GATEWAY?: string;
    /** Address of the docs, where they are not only in the repository. */
    readonly VITE_DOCS?: string;
  }
}

/** True where the page was built as files alone: its server is a Service Worker of this browser. */
export const isHosted = import.meta.env.MODE === "hosted";

/** Address of the server that gets all requests of the client. A hosted page may stand at any path. */
export const serverURL =
  import.meta.env.VITE_GATEWAY ||
  (isHosted ? new URL(".", location.href).href.replace(/\/$/, "") : location.origin);

/** Says if the page's policy lets it load a picture: a hosted page loads nothing from other hosts. */
export function isLoadable(url: string): boolean {
  return !isHosted || !/^https?:/.test(url) || new URL(url).origin === location.origin;
}

/** True where the page was built for the emulator behind its own server. */
export const isDemo = !import.meta.env.VITE_GATEWAY;

/** True while the browser has no network and the server does not answer. A server on this machine does. */
export const isAway = atom(false);

/**
 * Returns false if a request can't reach the server. A browser does not say of a failed request whether it was sent.
 * So without a network a request that costs nothing goes first.
 */
async function reachesServer(): Promise<boolean> {
  // the server of a hosted page is in this browser
  const answers = isHosted || navigator.onLine || (await answersNow());
  isAway.set(!answers && !navigator.onLine);
  return answers;
}

/** Message of the error of a request that did not leave: the client takes it for one that was not sent. */
const NOT_SENT = "Failed to fetch: ENETUNREACH";

/** Starts the server of a hosted page. Throws where it can't: then no request has left this page. */
async function assertStarted(): Promise<void> {
  if (!isHosted) return;
  await startService().catch((cause: unknown) => {
    throw new TypeError(NOT_SENT, { cause });
  });
}

/** Throws where a request can't reach the server: then it has not left this page. */
export async function assertReachable(): Promise<void> {
  await assertStarted();
  if (!(await reachesServer())) throw new TypeError(NOT_SENT);
}

/** Says if an error is of a request that was not sent, as the browser had no network. */
export function isOfOffline(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message === NOT_SENT;
}

async function answersNow(): Promise<boolean> {
  try {
    // any answer counts, also of a server that allows this page no more than its paths
    await fetch(`${serverURL}/`, { method: "HEAD", mode: "no-cors", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

addEventListener("online", reachesServer);
addEventListener("offline", reachesServer);
void reachesServer();
