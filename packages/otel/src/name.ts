/** Name of the instrumentation scope of all spans and metrics. */
export const NAME = "@sluice/otel";

/** The conventions for generative AI whose names the spans and metrics have: version 0.1.0. */
export const SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/0.1.0";
