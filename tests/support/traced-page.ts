import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { createClient, streamChat } from "@sluice/core";
import { createTelemetry } from "@sluice/otel";

/* A page with the real SDK, which sends its spans to its own host over OTLP. The address of the Worker is in the page's. */

const exporter = new OTLPTraceExporter({ url: `${location.origin}/page/v1/traces` });
const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
const baseURL = new URLSearchParams(location.search).get("worker") ?? "";
const client = createClient({ baseURL, ...createTelemetry({ tracerProvider, baseURL }) });

/** Sends a prompt, then the spans. Returns the outcome. */
async function sendMessage(content: string): Promise<string> {
  const messages = [{ role: "user", content }] as const;
  const { outcome } = await streamChat(client, { model: "delta-5.3", messages }).result();
  await tracerProvider.forceFlush();
  return outcome;
}

export type TracedPage = typeof sendMessage;
Object.assign(globalThis, { sendMessage });
