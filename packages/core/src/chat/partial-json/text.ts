const HIGH_SURROGATE = 0xd800;
const LOW_SURROGATE = 0xdc00;
/** Length of a segment: small enough to copy, large enough to have few segments. */
const SEGMENT = 4096;

/** A string that grows by fragments and is readable at any time. The cost of a fragment depends on its length. */
export interface GrowingText {
  clear(): void;
  /** Adds a fragment. */
  append(fragment: string): void;
  /** Ends the string. Keeps a lone surrogate. */
  end(): void;
  /** Text so far, without a last code unit that may be half of a surrogate pair. */
  readonly readable: string;
  /** Length of `readable`. */
  readonly length: number;
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
      const isHalf = isCutInPair(fragment);
      if (half === "" && !isHalf) return grow(fragment);
      const end = isHalf ? fragment.length - 1 : fragment.length;
      grow(half + fragment.slice(0, end));
      half = fragment.slice(end);
    },
    end: () => grow(half),
    get readable() {
      return settled + recent;
    },
    get length() {
      return settled.length + recent.length;
    },
  };

  function grow(more: string): void {
    recent += more;
    if (recent.length > SEGMENT) settle();
  }

  /**
   * Reads one character, so that the engine copies the text. Engines append by reference, so a long string would stay a
   * tree of its fragments. The tree takes several times the size of the text and slows down every garbage collection.
   */
  function settle(): void {
    recent.charCodeAt(0);
    settled += recent;
    recent = "";
  }
}

function isCutInPair(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= HIGH_SURROGATE && last < LOW_SURROGATE;
}
