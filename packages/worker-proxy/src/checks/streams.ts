import { describeWait, Refusal } from "../refusals/refusal.js";
import type { Report } from "../refusals/report.js";

/**
 * Bounds the open streams of a user in this isolate. The returned function counts one stream until the end of its request,
 * and for `maxMs` at most.
 *
 * @throws {Refusal} the function: 429 `too_many_streams`
 */
export function createStreamCount(max: number, maxMs: number) {
  const open = new Map<string, Set<{ readonly until: number }>>();
  return (userId: string, report: Pick<Report, "onEnd">) => {
    const now = Date.now();
    const streams = open.get(userId) ?? new Set();
    for (const stream of streams) if (stream.until <= now) streams.delete(stream);
    if (streams.size >= max)
      throw new Refusal("too_many_streams", { limit: "maxStreamsPerUser", ...describeWait(1000) });
    const stream = { until: now + maxMs };
    open.set(userId, streams.add(stream));
    report.onEnd.push(() => {
      if (streams.delete(stream) && streams.size === 0) open.delete(userId);
    });
  };
}
