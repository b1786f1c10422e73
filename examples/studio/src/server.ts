import { createValue } from "./value.js";

declare global {
  interface ImportMetaEnv {
    /** Address of the gateway's proxy, where it is not the server of this page. */
    readonly VITE_GATEWAY?: string;
  }
}

/** Address of the server that gets all requests of the client. */
export const serverURL = import.meta.env.VITE_GATEWAY || location.origin;

/** True while the browser has no network and the server does not answer. A server on this machine does. */
export const isAway = createValue(false);

/**
 * Returns false if a request can't reach the server. A browser does not say of a failed request whether it was sent.
 * So without a network a request that costs nothing goes first.
 */
export async function reachesServer(): Promise<boolean> {
  const answers = navigator.onLine || (await answersNow());
  isAway.set(!answers && !navigator.onLine);
  return answers;
}

async function answersNow(): Promise<boolean> {
  try {
    // any answer counts, also of a server that allows this page no more than its paths
    await fetch(serverURL, { method: "HEAD", mode: "no-cors", cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

addEventListener("online", reachesServer);
addEventListener("offline", reachesServer);
void reachesServer();
