import { createProxy, type GatewayProxy, type Host, type ProxyPlugin } from "@sluice/worker-proxy";

/** Creates a proxy with the plugin of this lab. Its user is the text in `authorization`. */
export function createSyncProxy(
  host: Host,
  plugin: ProxyPlugin,
  gateway: (request: Request) => Promise<Response> = async () => new Response(null, { status: 500 }),
): GatewayProxy {
  return createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => "gateway-key-0123456789",
    authenticate(request) {
      const id = request.headers.get("authorization");
      return id === null ? null : { id };
    },
    origins: ["https://app.example"],
    models: ["delta-5.3"],
    secret: () => "0123456789abcdef0123456789abcdef",
    host,
    plugins: [plugin],
    fetch: gateway,
  });
}
