import { createEmulator } from "@sluice/emulator";
import { createProxy } from "@sluice/worker-proxy";
import { options, type ProxyEnv } from "../../proxy-options.ts";
import { landscapes } from "../media/media.ts";
import { createDemoScript } from "../script.ts";
import { addRequestBodies } from "./request-body.ts";
import { storeStreams } from "./resumable-streams.ts";
import { toServerRequest } from "./server-request.ts";
import { openStoredState, type StoredState } from "./stored-state.ts";
import { openUploads } from "./uploads.ts";

/*
 * The proxy and the emulator of the gateway, in a Service Worker. The browser may end a Service Worker at any time, so the
 * emulator's state is in IndexedDB, and uploads are in the cache.
 */

/** Responds to the page's requests to the gateway and for its files. */
export type Gateway = (request: Request) => Promise<Response>;

declare global {
  /**
   * Set by this file: the Service Worker loads it when the first request needs it. `base` is the address of the page, with
   * a slash at its end.
   */
  var openGateway: ((base: string) => Promise<Gateway>) | undefined;
}

/** Address of the gateway. It exists only in this worker. */
const GATEWAY = "https://gateway.test";

globalThis.openGateway = async (base) => {
  addRequestBodies();
  const root = base.slice(0, -1);
  const { origin } = new URL(base);
  const files = `${base}emulator`;
  const state = await openStoredState(`${base} emulator`);
  const key = await readKey(state);
  const emulator = createEmulator({
    state,
    apiKeys: [key],
    origin: files,
    // the usual two minutes are too long for a demo
    durations: { imageMs: 3000, videoMs: 12_000 },
    chat: createDemoScript(),
    media: landscapes,
    // external URLs are accepted without a fetch: nothing leaves this browser
    fetchMedia: (url) => (url.startsWith(base) ? fetch(url) : undefined),
  });
  const proxy = createProxy<ProxyEnv>(options);
  const env: ProxyEnv = { GATEWAY_URL: GATEWAY, GATEWAY_API_KEY: key, ORIGINS: origin };
  const uploads = openUploads(base);
  const respond = storeStreams(async (request) =>
    proxy.fetch(await toServerRequest(dropSignal(request), root, origin), env),
  );
  handleFetch(async (request) => {
    if (request.url.startsWith(`${files}/`)) return emulate(await toServerRequest(request, files, GATEWAY));
    if (request.url.startsWith(`${GATEWAY}/`)) return emulate(request);
    return request.url.startsWith(base) ? ((await uploads(request)) ?? respond(request)) : undefined;
  });
  return (request) => fetch(request);

  async function emulate(request: Request): Promise<Response> {
    const response = await emulator.fetch(request);
    // the page must not know of a state that the disk does not have
    await state.flush();
    return response;
  }
};

/** Returns a chat request that continues after its page is closed. */
function dropSignal(request: Request): Request {
  return request.url.endsWith("/v1/chat/completions") ? new Request(request, { signal: null }) : request;
}

/** Returns the key that the first Service Worker of this browser created. The key never leaves the browser. */
async function readKey(state: StoredState): Promise<string> {
  const known = state.get("secrets/key");
  if (typeof known === "string") return known;
  const key = `sk-studio-${crypto.randomUUID()}${crypto.randomUUID()}`;
  state.set("secrets/key", key);
  await state.flush();
  return key;
}

/** Responds to each `fetch` of this worker with `respond`. No request leaves the browser. */
function handleFetch(respond: (request: Request) => Promise<Response | undefined>): void {
  const { fetch: send } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.url.startsWith("data:")) return send(request);
    const response = await respond(request);
    if (!response) throw new TypeError("the studio's Service Worker sends no request to another host");
    return response;
  };
}
