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

/** The metrics of the conventions. `per operation` metrics also have a histogram. */
const COUNTS = [
  ["input_tokens", "Number of input tokens, the cached ones included.", "per operation"],
  ["output_tokens", "Number of output tokens, the thinking included.", "per operation"],
  ["cache_read.input_tokens", "Number of input tokens from the cache.", ""],
  ["reasoning.output_tokens", "Number of output tokens of the thinking.", ""],
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
  const counts = COUNTS.map(([name, description, isPerOperation]) => ({
    attribute: `gen_ai.usage.${name}`,
    total: meter.createCounter(`gen_ai.client.inference.usage.${name}`, { unit: "{token}", description }),
    each: isPerOperation
      ? createTokensHistogram(`gen_ai.client.inference.operation.${name}`, description)
      : undefined,
  }));
  return {
    recordCall(base, event) {
      const errorType = getErrorType(event);
      const { "gen_ai.response.model": model } = createEndAttributes(event);
      const own = { ...base, ...(model !== undefined && { "gen_ai.response.model": model }) };
      const hasInferred = isInference(getOperation(event));
      const duration = hasInferred ? inferenceDuration : operationDuration;
      duration.record(event.durationMs / 1000, { ...own, ...(errorType && { "error.type": errorType }) });
      if (!hasInferred) return;
      const usage = createUsageAttributes(event);
      for (const { attribute, total, each } of counts) {
        const count = usage[attribute];
        if (typeof count !== "number") continue;
        total.add(count, { ...own, "gen_ai.token.modality": getModality(attribute, event) });
        each?.record(count, own);
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
