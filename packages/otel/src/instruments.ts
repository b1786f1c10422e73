import type { Attributes, MeterProvider } from "@opentelemetry/api";
import { type EndEvent, endAttributes, errorTypeOf } from "./attributes.js";
import { NAME } from "./name.js";

/** The metrics of calls and tools. */
export interface Instruments {
  /** Records the end of a call. */
  call(base: Attributes, event: EndEvent): void;
  /** Records the time to the first piece of a stream, in milliseconds. */
  firstChunk(base: Attributes, ms: number): void;
  /** Records the run of a tool. */
  tool(name: string, ms: number, errorType: string | undefined): void;
}

/** Bounds that the conventions give, in seconds. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/** Bounds that the conventions give, in tokens: powers of 4. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** Creates the instruments of the conventions. */
export function createInstruments(provider: MeterProvider): Instruments {
  const meter = provider.getMeter(NAME);
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries: SECONDS } });
  const duration = seconds("gen_ai.client.operation.duration", "GenAI operation duration.");
  const toFirst = seconds(
    "gen_ai.client.operation.time_to_first_chunk",
    "Time to the first chunk of a stream.",
  );
  const ofTool = seconds("gen_ai.execute_tool.duration", "Duration of a tool's run.");
  const tokens = meter.createHistogram("gen_ai.client.token.usage", {
    unit: "{token}",
    description: "Number of input and output tokens used.",
    advice: { explicitBucketBoundaries: TOKENS },
  });
  return {
    call(base, event) {
      const errorType = errorTypeOf(event);
      const all = endAttributes(event);
      const { "gen_ai.response.model": model } = all;
      const own = { ...base, ...(model !== undefined && { "gen_ai.response.model": model }) };
      duration.record(event.ms / 1000, { ...own, ...(errorType && { "error.type": errorType }) });
      // the conventions: none for an operation that failed
      if (errorType) return;
      for (const type of ["input", "output"] as const) {
        const count = all[`gen_ai.usage.${type}_tokens`];
        if (typeof count === "number") tokens.record(count, { ...own, "gen_ai.token.type": type });
      }
    },
    firstChunk: (base, ms) => toFirst.record(ms / 1000, base),
    tool: (name, ms, errorType) =>
      ofTool.record(ms / 1000, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        ...(errorType && { "error.type": errorType }),
      }),
  };
}
