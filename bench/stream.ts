import { createClient, streamChat } from "@sluice/core";
import { createEventParser } from "@sluice/core/sse";
import { createParser } from "eventsource-parser";
import { floor } from "./floor.ts";
import { answerOf, makeEvents, readsOf } from "./workload.ts";

/*
 * Bytes to parsed chunks, and one very large frame. Every figure is a ratio of medians of runs that take turns in this
 * process: machines differ, ratios hardly do.
 */

const question = { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] } as const;
const count = 20_000;

async function ours(reads: readonly Uint8Array[]): Promise<number> {
  const client = createClient({ baseURL: "https://gateway.test", fetch: async () => answerOf(reads) });
  const stream = streamChat(client, question);
  let deltas = 0;
  for await (const _ of stream) deltas += 1;
  return deltas + stream.snapshot.content.length;
}

async function byHand(reads: readonly Uint8Array[]): Promise<number> {
  let chunks = 0;
  await floor(answerOf(reads), () => {
    chunks += 1;
  });
  return chunks;
}

async function eventsourceParser(reads: readonly Uint8Array[]): Promise<number> {
  let chunks = 0;
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent({ data }) {
      if (data !== "[DONE]") JSON.parse(data);
      chunks += 1;
    },
  });
  const reader = (answerOf(reads).body as ReadableStream<Uint8Array>).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read())
    parser.feed(decoder.decode(read.value, { stream: true }));
  return chunks;
}

function oursOnEvents(reads: readonly Uint8Array[]): number {
  let bytes = 0;
  const parser = createEventParser({
    onEvent: ({ data }) => {
      bytes += data.length;
    },
  });
  for (const read of reads) parser.push(read);
  return bytes;
}

function eventsourceParserOnEvents(reads: readonly Uint8Array[]): number {
  let bytes = 0;
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent: ({ data }) => {
      bytes += data.length;
    },
  });
  for (const read of reads) parser.feed(decoder.decode(read, { stream: true }));
  return bytes;
}

type Subject = (reads: readonly Uint8Array[]) => unknown;

/** The median time of each subject, in milliseconds, over runs in turns; the first few warm up and do not count. */
async function mediansOf(subjects: Record<string, Subject>, reads: readonly Uint8Array[]): Promise<number[]> {
  const times = Object.values(subjects).map(() => [] as number[]);
  for (let run = 0; run < 14; run += 1)
    for (const [at, subject] of Object.values(subjects).entries()) {
      const startedAt = performance.now();
      await subject(reads);
      if (run >= 3) times[at]?.push(performance.now() - startedAt);
    }
  return times.map((own) => own.sort((a, b) => a - b)[Math.floor(own.length / 2)] ?? Number.NaN);
}

const events = makeEvents(count);
console.log(`${count} frames of a chat stream, time over a hand-written loop's:\n`);
console.log("reads of        streamChat   eventsource-parser + JSON.parse");
for (const size of ["one frame", 4096, 65_536, 7] as const) {
  const reads = readsOf(size === 7 ? events.slice(0, count / 5) : events, size);
  const [hand = 1, own = 0, peer = 0] = await mediansOf({ byHand, ours, eventsourceParser }, reads);
  const name = typeof size === "number" ? `${size} bytes` : size;
  console.log(`${name.padEnd(16)}${(own / hand).toFixed(2).padEnd(13)}${(peer / hand).toFixed(2)}`);
}

const large = (megabytes: number) => readsOf([`data: ${"x".repeat(megabytes * 1024 * 1024)}\n\n`], 4096);
const [own = 0, peer = 1] = await mediansOf({ oursOnEvents, eventsourceParserOnEvents }, large(8));
const [small = 1] = await mediansOf({ oursOnEvents }, large(2));
console.log(
  `\none frame of 8 MB in reads of 4096 bytes: ${(own / peer).toFixed(2)} of eventsource-parser's time`,
);
console.log(`8 MB over 2 MB: ${(own / small).toFixed(1)} times the time for 4 times the data`);
