/**
 * Gathers pieces in one place. To keep them instead would be to keep the room that each came in, a thousand times its
 * size where somebody sends letter by letter.
 */
export function openBytes() {
  let room = new Uint8Array(0);
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(piece: Uint8Array): void {
      const needed = size + piece.byteLength;
      if (needed > room.byteLength) {
        const larger = new Uint8Array(Math.max(needed, 2 * room.byteLength));
        larger.set(room.subarray(0, size));
        room = larger;
      }
      room.set(piece, size);
      size = needed;
    },
    /** All of it; what is added next begins anew. */
    take(): Uint8Array<ArrayBuffer> {
      const all = room.subarray(0, size);
      room = new Uint8Array(0);
      size = 0;
      return all;
    },
  };
}
