const FIRST_HALF = 0xd800;
const SECOND_HALF = 0xdc00;
/** Length of a segment: few segments, and cheap to copy. */
const SEGMENT = 4096;

/** A string that grows by fragments, each at the cost of its own length, and can be read at any time. */
interface GrowingText {
  clear(): void;
  /** Adds a fragment; returns true if there is more to read. */
  append(fragment: string): boolean;
  /** Ends the string; returns true if there is more to read: a surrogate without its other half. */
  end(): boolean;
  /** The text so far, without a last unit that may be half of a surrogate pair. */
  readonly readable: string;
}

export function createGrowingText(): GrowingText {
  let settled = "";
  let recent = "";
  let half = "";

  return {
    clear() {
      settled = recent = half = "";
    },
    append(fragment) {
      const end = endsWithFirstHalf(fragment) ? fragment.length - 1 : fragment.length;
      const isMore = grow(half + fragment.slice(0, end));
      half = fragment.slice(end);
      return isMore;
    },
    end: () => grow(half),
    get readable() {
      return settled + recent;
    },
  };

  function grow(more: string): boolean {
    recent += more;
    if (recent.length > SEGMENT) settle();
    return more !== "";
  }

  /**
   * Engines append by pointing at both parts, and copy when a character is asked for. Without that a long string is
   * a tree of its fragments, several times its own size, and every garbage collection walks through it.
   */
  function settle(): void {
    recent.charCodeAt(0);
    settled += recent;
    recent = "";
  }
}

function endsWithFirstHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= FIRST_HALF && last < SECOND_HALF;
}
