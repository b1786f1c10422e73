const HIGH_SURROGATE = 0xd800;
const LOW_SURROGATE = 0xdc00;
/** Length of a segment: small enough to copy, large enough to have few segments. */
const SEGMENT = 4096;

/** Creates a string that grows by fragments and is readable at any time. The cost of a fragment depends on its length. */
export function createGrowingText() {
  let settled = "";
  let recent = "";
  /** A last code unit that may be half of a surrogate pair. */
  let half = "";
  return {
    clear() {
      settled = recent = half = "";
    },
    /** Returns true if the readable text is longer then. */
    append(fragment: string): boolean {
      const last = fragment.charCodeAt(fragment.length - 1);
      const isCut = last >= HIGH_SURROGATE && last < LOW_SURROGATE;
      const added = half + (isCut ? fragment.slice(0, -1) : fragment);
      half = isCut ? fragment.slice(-1) : "";
      recent += added;
      if (recent.length > SEGMENT) settle();
      return added !== "";
    },
    /** Ends the string. Keeps a lone surrogate. Returns true if the readable text is longer then. */
    end(): boolean {
      recent += half;
      return half !== "";
    },
    /** Text so far, without half of a pair. */
    get readable(): string {
      return settled + recent;
    },
  };

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
