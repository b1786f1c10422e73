/** Name of the instrumentation scope of all spans and metrics. */
export const NAME = "@sluice/otel";

/** Version of the conventions for generative AI used by the spans and metrics: 0.1.0. */
export const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/0.1.0";
