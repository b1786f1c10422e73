import { type BlobReader, createView, readASCII } from "./blob-reader.js";

/** An index of a one-hour video is smaller. */
const MAX_INDEX_BYTES = 33_554_432;
const MAX_BOXES = 65_536;
const MAX_DEPTH = 8;
/** A two-hour video with sound has fewer samples. */
const MAX_SAMPLES = 2_000_000;

const containers = ["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"];

/**
 * Adds up the counts that the boxes of an MP4 or MOV file declare, and returns the problem, before the demuxer trusts
 * them: a file of a few hundred bytes that declares 4 billion samples would fill the memory.
 */
export async function findBoxProblem(reader: BlobReader): Promise<string | undefined> {
  let offset = 0;
  let hasIndex = false;
  let samples = 0;
  for (let boxes = 0; offset + 8 <= reader.size; boxes += 1) {
    const head = await reader.read(offset, offset + 16);
    const box = readBox(head, 0, reader.size - offset);
    if (!box || boxes === MAX_BOXES) return "has boxes that contradict each other";
    if (box.name === "moov" || box.name === "moof") {
      if (offset + box.size > reader.size) return "ends within its index";
      if (box.size > MAX_INDEX_BYTES) return `declares an index of ${box.size} bytes`;
      samples += countSamples(await reader.read(offset + box.headerSize, offset + box.size), 0);
      if (samples > MAX_SAMPLES) return `declares more than ${MAX_SAMPLES} samples`;
      hasIndex ||= box.name === "moov";
    }
    offset += box.size;
  }
  return hasIndex ? undefined : "ends before its index: it is cut, or not written to its end";
}

interface Box {
  readonly name: string;
  readonly size: number;
  readonly headerSize: number;
}

function readBox(bytes: Uint8Array<ArrayBuffer>, offset: number, remaining: number): Box | undefined {
  if (bytes.length - offset < 8) return undefined;
  const view = createView(bytes);
  const name = readASCII(bytes, offset + 4, 4);
  const size32 = view.getUint32(offset);
  if (size32 === 0) return { name, size: remaining, headerSize: 8 };
  if (size32 >= 8) return { name, size: size32, headerSize: 8 };
  if (size32 !== 1 || bytes.length - offset < 16) return undefined;
  const size = Number(view.getBigUint64(offset + 8));
  return size >= 16 ? { name, size, headerSize: 16 } : undefined;
}

/** Counts the samples that a demuxer reads for the tables in a run of boxes. */
function countSamples(bytes: Uint8Array<ArrayBuffer>, depth: number): number {
  if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  const counts: Record<string, number> = {};
  for (let offset = 0; offset < bytes.length; ) {
    const box = readBox(bytes, offset, bytes.length - offset);
    if (!box) break;
    const content = bytes.subarray(offset + box.headerSize, offset + box.size);
    const count = containers.includes(box.name)
      ? countSamples(content, depth + 1)
      : readCount(box.name, content);
    counts[box.name] = (counts[box.name] ?? 0) + count;
    offset += box.size;
  }
  const { stts = 0, ctts = 0, ...others } = counts;
  // one `stts` entry may stand for all ticks of uncompressed sound; it is expanded only to add the offsets of `ctts`
  return Object.values(others).reduce((sum, count) => sum + count, ctts > 0 ? stts + ctts : 0);
}

function readCount(name: string, content: Uint8Array<ArrayBuffer>): number {
  const view = createView(content);
  if (name === "trun") return content.length >= 8 ? view.getUint32(4) : 0;
  // number of 32-bit columns of each table, and the indexes of the columns with counts
  const columns = { stts: [2, [0]], ctts: [2, [0]], stsc: [3, [0, 1]] } as const;
  if (!(name in columns)) return 0;
  const [width, countColumns] = columns[name as keyof typeof columns];

  let sum = 0;
  let largest = 0;
  for (let offset = 8; offset + width * 4 <= content.length; offset += width * 4)
    for (const column of countColumns) {
      const count = view.getUint32(offset + column * 4);
      sum += count;
      largest = Math.max(largest, count);
    }
  // `stsc` has the numbers of chunks, not counts
  return name === "stsc" ? largest : sum;
}
