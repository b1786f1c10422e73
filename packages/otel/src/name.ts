/** Name of the instrumentation scope of all spans and metrics. */
export const NAME = "@sluice/otel";
