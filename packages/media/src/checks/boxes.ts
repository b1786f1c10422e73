import { createView, readASCII } from "@sluice/core/internal/media";
import type { BlobReader } from "./blob-reader.js";

/** Limit that a film of one hour does not reach. */
const MOST_INDEX_BYTES = 33_554_432;
const MOST_BOXES = 65_536;
const MOST_DEPTH = 8;
/** Limit that a film of two hours with sound does not reach. */
const MOST_SAMPLES = 2_000_000;

const containers = ["moov", "trak", "mdia", "minf", "stbl", "moof", "traf"];

/**
 * Checks the boxes of an MP4 or MOV file before it is measured, and returns the problem. The demuxer trusts the counts
 * in a file. A file of a few hundred bytes that declares 4 billion samples would keep it busy until the memory is full.
 * So the counts are added up first.
 */
export async function boxesProblem(reader: BlobReader): Promise<string | undefined> {
  let at = 0;
  let hasIndex = false;
  let samples = 0;
  for (let boxes = 0; at + 8 <= reader.size; boxes += 1) {
    const head = await reader.read(at, at + 16);
    const box = boxAt(head, 0, reader.size - at);
    if (!box || boxes === MOST_BOXES) return "has boxes that contradict each other";
    if (box.name === "moov" || box.name === "moof") {
      if (at + box.size > reader.size) return "ends within its index";
      if (box.size > MOST_INDEX_BYTES) return `declares an index of ${box.size} bytes`;
      samples += samplesIn(await reader.read(at + box.headerSize, at + box.size), 0);
      if (samples > MOST_SAMPLES) return `declares more than ${MOST_SAMPLES} samples`;
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

function boxAt(bytes: Uint8Array<ArrayBuffer>, at: number, left: number): Box | undefined {
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
function samplesIn(bytes: Uint8Array<ArrayBuffer>, depth: number): number {
  if (depth > MOST_DEPTH) return Number.POSITIVE_INFINITY;
  const counts: Record<string, number> = {};
  for (let at = 0; at < bytes.length; ) {
    const box = boxAt(bytes, at, bytes.length - at);
    if (!box) break;
    const content = bytes.subarray(at + box.headerSize, at + box.size);
    const count = containers.includes(box.name) ? samplesIn(content, depth + 1) : countOf(box.name, content);
    counts[box.name] = (counts[box.name] ?? 0) + count;
    at += box.size;
  }
  const { stts = 0, ctts = 0, ...others } = counts;
  // uncompressed sound has one time for each tick in a single entry, unless there are offsets to add
  return Object.values(others).reduce((sum, count) => sum + count, ctts > 0 ? stts + ctts : 0);
}

function countOf(name: string, content: Uint8Array<ArrayBuffer>): number {
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
