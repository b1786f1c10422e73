/** An open array or object. Its content grows in place, and each reading gets a copy. */
interface Container {
  readonly content: unknown[] | Record<string, unknown>;
  readonly depth: number;
  readonly outer: Container | undefined;
  /** Key in an object, or index in an array, of the value that is being read. */
  key: string | number;
  /** True if a key is `__proto__`, which `Object.assign` would not copy. */
  hasProto: boolean;
  /** Copy that the last reading returned. */
  snapshot: unknown;
}

/** Creates the value of a document that is still incomplete. */
export function createGrowingValue() {
  /** The array or object of the next value; undefined at the top level. */
  let innermost: Container | undefined;
  /** Result of the last reading, or the final value of a complete document. */
  let value: unknown;
  /** True if the value changed after the last reading. Every open container has then changed. */
  let isChanged = false;

  return {
    /** Number of open containers. */
    get depth() {
      return innermost?.depth ?? 0;
    },
    /** True if the next value belongs to an array. */
    get isInArray() {
      return typeof innermost?.key === "number";
    },
    /** Notes that the next reading must copy the open containers. */
    change() {
      isChanged = true;
    },
    open(content: Container["content"]) {
      const key = Array.isArray(content) ? 0 : "";
      const depth = (innermost?.depth ?? 0) + 1;
      innermost = { content, depth, outer: innermost, key, hasProto: false, snapshot: undefined };
      isChanged = true;
    },
    /** Closes the innermost container. Its last copy becomes its value if nothing changed after it. */
    close() {
      const { content, snapshot, outer } = innermost as Container;
      innermost = outer;
      add(isChanged ? content : snapshot);
    },
    setKey(key: string) {
      (innermost as Container).key = key;
    },
    add,
    /**
     * Returns the value so far. Copies every open container after a change.
     *
     * @param readPartial returns the incomplete value; undefined if it can't be shown yet
     */
    read(readPartial: () => unknown): unknown {
      if (!isChanged) return value;
      value = readPartial();
      for (let container = innermost; container; container = container.outer) {
        if (value !== undefined) put(container, value);
        value = container.snapshot = copyContent(container);
      }
      isChanged = false;
      return value;
    },
  };

  /** Adds a complete value to the innermost container, or as the value of the document. */
  function add(whole: unknown): void {
    if (innermost) {
      put(innermost, whole);
      if (typeof innermost.key === "number") innermost.key += 1;
    } else {
      value = whole;
      isChanged = false;
    }
  }
}

function put(container: Container, value: unknown): void {
  const { content, key } = container;
  if (key === "__proto__") {
    container.hasProto = true;
    Object.defineProperty(content, key, { value, writable: true, enumerable: true, configurable: true });
  } else (content as Record<string | number, unknown>)[key] = value;
}

function copyContent({ content, hasProto }: Container): unknown {
  if (Array.isArray(content)) return content.slice();
  // faster than a spread for objects of many shapes
  return hasProto ? { ...content } : Object.assign({}, content);
}

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
