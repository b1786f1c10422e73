import type { Client } from "@sluice/core";
import { withFreeLock } from "@sluice/stores/extend";
import { resolveAddress } from "../base.js";

/** Streams of all tabs of a browser to one host over HTTP/1.1: of its six connections, two are left for requests. */
const MOST_STREAMS = 4;

/**
 * Runs `act`, which holds a connection, with one of the streams that a browser may have to the host of the proxy. Over
 * HTTP/2 and HTTP/3, and where the protocol is not known, it runs at once.
 *
 * @returns false where other tabs have all streams: `act` was not called
 * @throws the error of `act`
 */
export async function withStream(client: Client, act: () => Promise<void>): Promise<boolean> {
  const host = hostWithFew(client);
  if (host !== undefined) {
    for (let nth = 0; nth < MOST_STREAMS; nth += 1)
      // of all scopes: the connections are the browser's
      if (await withFreeLock(client, `sluice/stream/${host}/${nth}`, act)) return true;
    return false;
  }
  await act();
  return true;
}

/** Returns the host of the proxy, if this page is known to reach it by HTTP/1.1. */
function hostWithFew(client: Client): string | undefined {
  try {
    const { origin, host } = new URL(resolveAddress(client, "/"));
    const loads = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
    const isFew = loads.some(
      (load) =>
        load.name.startsWith(`${origin}/`) &&
        (load as Partial<PerformanceResourceTiming>).nextHopProtocol === "http/1.1",
    );
    return isFew ? host : undefined;
  } catch {
    return undefined;
  }
}
