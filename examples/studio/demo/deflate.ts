type Bytes = Uint8Array<ArrayBuffer>;

/** Creates the compression of the browser. */
export function createDeflation(_chunkSize: number): ReadableWritablePair<Bytes, Bytes> {
  return new CompressionStream("deflate");
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Returns the checksum of a chunk of PNG. */
export function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (table[(sum ^ byte) & 0xff] as number) ^ (sum >>> 8);
  return ~sum >>> 0;
}
