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
    /** All of it, until something is added or taken. */
    view: () => room.subarray(0, size),
    /** Takes the first `end` bytes out; the rest stays. @default all of it */
    take(end = size): Uint8Array<ArrayBuffer> {
      const taken = room.subarray(0, end);
      // a copy: what was taken is its receiver's
      room = room.slice(end, size);
      size = room.byteLength;
      return taken;
    },
  };
}
