import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createProxyTelemetry } from "@sluice/otel/proxy";
import { createProxy, type ProxyPlugin } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";

interface Env {
  readonly GATEWAY: string;
  readonly GATEWAY_API_KEY: string;
  /** Origin of the page, which has the receiver, too. */
  readonly SITE: string;
}

let sdk:
  | { readonly provider: TracerProvider; readonly telemetry: ReturnType<typeof createProxyTelemetry> }
  | undefined;

/** Starts the SDK of this isolate at the first request, because the `env` has the address for the spans. */
function getSDK(env: Env) {
  if (sdk) return sdk;
  const exporter = new OTLPTraceExporter({ url: `${env.SITE}/worker/v1/traces` });
  const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  sdk = { provider, telemetry: createProxyTelemetry({ tracerProvider: provider }) };
  return sdk;
}

const proxy = createProxy<Env>({
  baseURL: (env) => env.GATEWAY,
  apiKey: (env) => env.GATEWAY_API_KEY,
  authenticate: () => ({ id: "ada@example.com" }),
  origins: (env) => [env.SITE],
  models: ["delta-5.3"],
  plugins: [
    definePlugin<ProxyPlugin<Env>>({
      traceparent: (begun) => sdk?.telemetry.traceparent(begun),
      onEvent(event, env, context) {
        const { provider, telemetry } = getSDK(env);
        telemetry.onEvent(event);
        context?.waitUntil(provider.forceFlush());
      },
    }),
  ],
});

/** A Worker with the real SDK, which sends its spans over OTLP. */
export default {
  fetch(request, env, context) {
    getSDK(env as Env);
    return proxy.fetch(request, env as Env, context);
  },
} satisfies Pick<typeof proxy, "fetch"> as { readonly fetch: typeof proxy.fetch };
