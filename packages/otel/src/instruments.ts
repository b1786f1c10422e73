import type { Attributes, MeterProvider } from "@opentelemetry/api";
import {
  createEndAttributes,
  createUsageAttributes,
  type EndEvent,
  getErrorType,
  getOperation,
  isInference,
} from "./attributes.js";
import { NAME, SCHEMA_URL } from "./name.js";

/** The metrics of calls and tools. */
export interface Instruments {
  /** Records the end of a call. */
  recordCall(base: Attributes, event: EndEvent): void;
  /** Records the time to the first chunk of a stream, in milliseconds. */
  recordFirstChunk(base: Attributes, ms: number): void;
  /** Records a tool run. */
  recordTool(name: string, ms: number, errorType: string | undefined): void;
}

/** Bucket boundaries of the conventions, in seconds. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Bucket boundaries of the conventions, in tokens: powers of 4. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** The counters of tokens: name, description, and if a histogram counts the tokens of each operation. */
const COUNTS = [
  ["input_tokens", "Number of input tokens, the cached ones included.", true],
  ["output_tokens", "Number of output tokens, the thinking included.", true],
  ["cache_read.input_tokens", "Number of input tokens from the cache.", false],
  ["reasoning.output_tokens", "Number of output tokens of the thinking.", false],
] as const;

/** Creates the instruments of the conventions. */
export function createInstruments(provider: MeterProvider): Instruments {
  const meter = provider.getMeter(NAME, undefined, { schemaUrl: SCHEMA_URL });
  const createHistogram = (unit: string, bounds: number[]) => (name: string, description: string) =>
    meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } });
  const createSecondsHistogram = createHistogram("s", SECONDS);
  const createTokensHistogram = createHistogram("{token}", TOKENS);
  const inferenceDuration = createSecondsHistogram(
    "gen_ai.client.inference.duration",
    "Duration of a call in which a model makes something.",
  );
  const operationDuration = createSecondsHistogram(
    "gen_ai.client.operation.duration",
    "Duration of any other call.",
  );
  const timeToFirstChunk = createSecondsHistogram(
    "gen_ai.client.inference.time_to_first_chunk",
    "Time to the first chunk of a stream.",
  );
  const toolDuration = createSecondsHistogram("gen_ai.execute_tool.duration", "Duration of a tool's run.");
  const tokenMetrics = COUNTS.map(([name, description, hasHistogram]) => ({
    attribute: `gen_ai.usage.${name}`,
    counter: meter.createCounter(`gen_ai.client.inference.usage.${name}`, { unit: "{token}", description }),
    histogram: hasHistogram
      ? createTokensHistogram(`gen_ai.client.inference.operation.${name}`, description)
      : undefined,
  }));
  return {
    recordCall(base, event) {
      const errorType = getErrorType(event);
      const { "gen_ai.response.model": model } = createEndAttributes(event);
      const attributes = { ...base, ...(model !== undefined && { "gen_ai.response.model": model }) };
      const isInferenceCall = isInference(getOperation(event));
      const duration = isInferenceCall ? inferenceDuration : operationDuration;
      duration.record(event.durationMs / 1000, {
        ...attributes,
        ...(errorType && { "error.type": errorType }),
      });
      if (!isInferenceCall) return;
      const usage = createUsageAttributes(event);
      for (const { attribute, counter, histogram } of tokenMetrics) {
        const count = usage[attribute];
        if (typeof count !== "number") continue;
        counter.add(count, { ...attributes, "gen_ai.token.modality": getModality(attribute, event) });
        histogram?.record(count, attributes);
      }
    },
    recordFirstChunk: (base, ms) => timeToFirstChunk.record(ms / 1000, base),
    recordTool: (name, ms, errorType) =>
      toolDuration.record(ms / 1000, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        ...(errorType && { "error.type": errorType }),
      }),
  };
}

/** Returns the modality of tokens. A chat generates text; images in its request are not counted separately. */
function getModality(attribute: string, { kind }: EndEvent): string {
  if (!attribute.endsWith("output_tokens")) return "unknown";
  return kind === "image" ? "image" : "text";
}
