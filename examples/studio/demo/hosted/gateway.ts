import { createEmulator } from "@sluice/emulator";
import { createProxy } from "@sluice/worker-proxy";
import { options, type ProxyEnv } from "../../proxy-options.ts";
import { landscapes } from "../media/media.ts";
import { createDemoScript } from "../script.ts";
import { asAServerSees } from "./as-a-server-sees.ts";
import { keepAnswers } from "./kept-answers.ts";
import { type KeptState, openKeptState } from "./kept-state.ts";
import { addRequestBodies } from "./request-body.ts";
import { openUploads } from "./uploads.ts";

/*
 * The proxy and the gateway's emulator, in a Service Worker. The emulator's state is in IndexedDB, and uploads are in the
 * cache: the browser ends a Service Worker when it likes, and starts it anew.
 */

/** Answers the page's requests to the gateway, and those for its files. */
export type Gateway = (request: Request) => Promise<Response>;

declare global {
  /**
   * Set by this file: the Service Worker loads it when the first request needs it. `base` is the address of the page, with
   * a slash at its end.
   */
  var openGateway: ((base: string) => Promise<Gateway>) | undefined;
}

/** Address of the gateway, which is nowhere but here. */
const GATEWAY = "https://gateway.test";

globalThis.openGateway = async (base) => {
  addRequestBodies();
  const root = base.slice(0, -1);
  const { origin } = new URL(base);
  const files = `${base}emulator`;
  const state = await openKeptState(`${base} emulator`);
  const key = await keyIn(state);
  const emulator = createEmulator({
    state,
    apiKeys: [key],
    origin: files,
    // nobody watches a demo for two minutes
    durations: { imageMs: 3000, videoMs: 12_000 },
    chat: createDemoScript(),
    media: landscapes,
    // addresses elsewhere are accepted as they are: nothing leaves this browser
    fetchMedia: (url) => (url.startsWith(base) ? fetch(url) : undefined),
  });
  const proxy = createProxy<ProxyEnv>(options);
  const env: ProxyEnv = { GATEWAY_URL: GATEWAY, GATEWAY_API_KEY: key, ORIGINS: origin };
  const uploads = openUploads(base);
  const answer = keepAnswers(async (request) =>
    proxy.fetch(await asAServerSees(withoutSignal(request), root, origin), env),
  );
  stayInside(async (request) => {
    if (request.url.startsWith(`${files}/`)) return emulate(await asAServerSees(request, files, GATEWAY));
    if (request.url.startsWith(`${GATEWAY}/`)) return emulate(request);
    return request.url.startsWith(base) ? ((await uploads(request)) ?? answer(request)) : undefined;
  });
  return (request) => fetch(request);

  async function emulate(request: Request): Promise<Response> {
    const response = await emulator.fetch(request);
    // the page hears of nothing that is not stored
    await state.kept();
    return response;
  }
};

/** Returns a chat request that goes on when its page is closed. */
function withoutSignal(request: Request): Request {
  return request.url.endsWith("/v1/chat/completions") ? new Request(request, { signal: null }) : request;
}

/** Returns a key that the first Service Worker of this browser has made up, and that never leaves it. */
async function keyIn(state: KeptState): Promise<string> {
  const known = state.get("secrets/key");
  if (typeof known === "string") return known;
  const key = `sk-studio-${crypto.randomUUID()}${crypto.randomUUID()}`;
  state.set("secrets/key", key);
  await state.kept();
  return key;
}

/** Leads each `fetch` of this worker to `answer`: no request leaves the browser. */
function stayInside(answer: (request: Request) => Promise<Response | undefined>): void {
  const { fetch: send } = globalThis;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    if (request.url.startsWith("data:")) return send(request);
    const response = await answer(request);
    if (!response) throw new TypeError("the studio's Service Worker sends no request to another host");
    return response;
  };
}
