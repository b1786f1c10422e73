import { createEmulator } from "@sluice/emulator";
import { sync } from "@sluice/sync/server";
import { createProxy, type GatewayProxy, type Host } from "@sluice/worker-proxy";

const key = "sk-emulator-0123456789";

/**
 * Creates the proxy: it stores the conversations of all users and runs their turns. The emulator is its gateway. The
 * user is the text in `authorization`; an app checks a session or a token there.
 */
export function openProxy(host: Host): GatewayProxy {
  const gateway = createEmulator({ apiKeys: [key] });
  return createProxy({
    baseURL: "https://gateway.example.com",
    apiKey: () => key,
    fetch: async (request) => gateway.fetch(request),
    authenticate(request) {
      const id = request.headers.get("authorization");
      return id === null ? null : { id };
    },
    origins: ["http://localhost:8787"],
    models: ["delta-5.3"],
    host,
    plugins: [sync({ turns: { instructions: "Answer in one sentence." } })],
  });
}
