import { openIssuer } from "./auth-issuer.js";
import { bundle } from "./bundle.js";
import { KEY } from "./key.js";
import { startMiniflare } from "./miniflare.js";
import { ok, startUpstream } from "./upstream.js";

/**
 * A proxy in a new workerd, where requests share an isolate and nothing else. The gateway and the sign-in service's
 * keys are on a real socket; `respondWithKeys` sets the response for the keys.
 */
export async function startGuardedProxy() {
  const upstream = await startUpstream();
  const issuer = await openIssuer();
  type Script = Parameters<typeof upstream.respondWith>[0] & object;
  const giveKeys: Script = (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: issuer.keys() }));
  };
  const respondWithKeys = (script: Script = giveKeys) =>
    upstream.respondWith((response, request) =>
      (request.url.startsWith("/v1/") ? ok : script)(response, request),
    );
  respondWithKeys();
  const worker = {
    name: "worker",
    modules: [
      {
        type: "ESModule",
        path: "worker.js",
        contents: await bundle("worker-proxy/test/support/auth-worker.ts"),
      },
    ],
    compatibilityDate: "2026-10-01",
    compatibilityFlags: ["enable_request_signal"],
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    bindings: { UPSTREAM: upstream.url, KEY },
  };
  const miniflare = startMiniflare({ handleStructuredLogs: () => {}, workers: [worker] });
  await miniflare.ready;
  const url = await miniflare.unsafeGetDirectURL("worker");
  const token = await issuer.token();

  return {
    giveKeys,
    respondWithKeys,
    arrived: upstream.arrived,
    /** The paths of requests to the gateway and to the sign-in service. */
    paths: () => upstream.requests.map((request) => request.url),
    async sendAndReadStatus(init: RequestInit = {}) {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const body = JSON.stringify({ model: "delta-5.3", messages: [] });
      return (await fetch(new URL("/v1/chat/completions", url), { method: "POST", headers, body, ...init }))
        .status;
    },
    async close() {
      await miniflare.dispose();
      upstream.close();
    },
  };
}
