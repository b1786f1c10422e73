import { type BlobReader, createView, readASCII } from "./blob-reader.js";

/** An index of a one-hour video is smaller. */
const MAX_INDEX_BYTES = 33_554_432;
const MAX_BOXES = 65_536;
const MAX_DEPTH = 8;
/** A two-hour video with sound has fewer samples. */
const MAX_SAMPLES = 2_000_000;

const containers = ["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"];

/**
 * Checks the boxes of an MP4 or MOV file before the demuxer measures it, and returns the problem. The demuxer trusts
 * the counts in a file: a file of a few hundred bytes that declares 4 billion samples would fill the memory. So add up
 * the counts first.
 */
export async function findBoxProblem(reader: BlobReader): Promise<string | undefined> {
  let at = 0;
  let hasIndex = false;
  let samples = 0;
  for (let boxes = 0; at + 8 <= reader.size; boxes += 1) {
    const head = await reader.read(at, at + 16);
    const box = readBox(head, 0, reader.size - at);
    if (!box || boxes === MAX_BOXES) return "has boxes that contradict each other";
    if (box.name === "moov" || box.name === "moof") {
      if (at + box.size > reader.size) return "ends within its index";
      if (box.size > MAX_INDEX_BYTES) return `declares an index of ${box.size} bytes`;
      samples += countSamples(await reader.read(at + box.headerSize, at + box.size), 0);
      if (samples > MAX_SAMPLES) return `declares more than ${MAX_SAMPLES} samples`;
      hasIndex ||= box.name === "moov";
    }
    at += box.size;
  }
  return hasIndex ? undefined : "ends before its index: it is cut, or not written to its end";
}

interface Box {
  readonly name: string;
  readonly size: number;
  readonly headerSize: number;
}

function readBox(bytes: Uint8Array<ArrayBuffer>, at: number, left: number): Box | undefined {
  if (bytes.length - at < 8) return undefined;
  const view = createView(bytes);
  const name = readASCII(bytes, at + 4, 4);
  const short = view.getUint32(at);
  if (short === 0) return { name, size: left, headerSize: 8 };
  if (short >= 8) return { name, size: short, headerSize: 8 };
  if (short !== 1 || bytes.length - at < 16) return undefined;
  const size = Number(view.getBigUint64(at + 8));
  return size >= 16 ? { name, size, headerSize: 16 } : undefined;
}

/** Counts the samples that a demuxer reads for the tables in a run of boxes. */
function countSamples(bytes: Uint8Array<ArrayBuffer>, depth: number): number {
  if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  const counts: Record<string, number> = {};
  for (let at = 0; at < bytes.length; ) {
    const box = readBox(bytes, at, bytes.length - at);
    if (!box) break;
    const content = bytes.subarray(at + box.headerSize, at + box.size);
    const count = containers.includes(box.name)
      ? countSamples(content, depth + 1)
      : readCount(box.name, content);
    counts[box.name] = (counts[box.name] ?? 0) + count;
    at += box.size;
  }
  const { stts = 0, ctts = 0, ...others } = counts;
  // uncompressed sound has one time for each tick in a single entry, unless there are offsets to add
  return Object.values(others).reduce((sum, count) => sum + count, ctts > 0 ? stts + ctts : 0);
}

function readCount(name: string, content: Uint8Array<ArrayBuffer>): number {
  const view = createView(content);
  if (name === "trun") return content.length >= 8 ? view.getUint32(4) : 0;
  const columns = { stts: [2, [0]], ctts: [2, [0]], stsc: [3, [0, 1]] } as const;
  if (!(name in columns)) return 0;
  const [width, counted] = columns[name as keyof typeof columns];

  let sum = 0;
  let largest = 0;
  for (let at = 8; at + width * 4 <= content.length; at += width * 4)
    for (const column of counted) {
      const count = view.getUint32(at + column * 4);
      sum += count;
      largest = Math.max(largest, count);
    }
  // chunks are numbered, not counted
  return name === "stsc" ? largest : sum;
}
