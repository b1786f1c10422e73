import { type Figure, inTurns, measureMs, toFigure, toRatio } from "../harness.ts";
import { peers } from "../peers/streams.js";
import { own, type Subject } from "../subjects.ts";
import { formatTable, type Report } from "../topic.ts";
import { createResponse, splitReads } from "../workload.ts";

/*
 * One frame with a text of many megabytes, in reads of 4 KB. A reader that parses from the start after each read takes
 * time that grows with the square of the length.
 */

export const title = "One large frame";

export async function measure(): Promise<Report> {
  const subjects: Record<string, Subject> = {
    ...own,
    ...peers,
  };
  const names = Object.keys(subjects);
  const timesFor = (megabytes: number) => {
    const reads = splitReads([createFrame(megabytes)], 4096);
    const gateway = { baseURL: "https://gateway.test", fetch: async () => createResponse(reads) };
    return inTurns(names, (name) => measureMs(() => subjects[name]?.(gateway, () => {})), { rounds: 7 });
  };
  const small = await timesFor(2);
  const large = await timesFor(8);
  const ratio: Record<string, Figure> = {};
  const growth: Record<string, string> = {};
  for (const name of names) {
    ratio[name] = toRatio(large[name] ?? [], large["eventsource-parser + JSON.parse"] ?? []);
    const times = [large, small].map((values) => toFigure(values[name] ?? []).median);
    growth[name] = `× ${((times[0] ?? 0) / (times[1] ?? 1)).toFixed(1)}`;
  }
  const columns = { "time over eventsource-parser's": ratio, "8 MB over 2 MB": growth };
  return {
    markdown: `One frame of 8 MB arrives in reads of 4 KB, in Node. The time is divided by that of eventsource-parser with JSON.parse.\n\n${formatTable("one frame", columns)}`,
  };
}

function createFrame(megabytes: number): string {
  const content = "x".repeat(megabytes * 1024 * 1024);
  const choices = [{ index: 0, delta: { content }, finish_reason: "stop" }];
  return `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "delta-5.3", choices })}\n\n`;
}
