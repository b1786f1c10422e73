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

/** The value of a document that is still incomplete. A class, because engines create and call one faster than closures. */
export class GrowingValue {
  /** The array or object of the next value; undefined at the top level. */
  #innermost: Container | undefined;
  /** Result of the last reading, or the final value of a complete document. */
  #value: unknown;
  /** True if the value changed after the last reading. Every open container has then changed. */
  #isChanged = false;

  /** Number of open containers. */
  get depth(): number {
    return this.#innermost?.depth ?? 0;
  }

  /** True if the next value belongs to an array. */
  get isInArray(): boolean {
    return typeof this.#innermost?.key === "number";
  }

  /** Notes that the next reading must copy the open containers. */
  change(): void {
    this.#isChanged = true;
  }

  open(content: Container["content"]): void {
    const key = Array.isArray(content) ? 0 : "";
    const outer = this.#innermost;
    this.#innermost = { content, depth: this.depth + 1, outer, key, hasProto: false, snapshot: undefined };
    this.#isChanged = true;
  }

  /** Closes the innermost container. Its last copy becomes its value if nothing changed after it. */
  close(): void {
    const { content, snapshot, outer } = this.#innermost as Container;
    this.#innermost = outer;
    this.add(this.#isChanged ? content : snapshot);
  }

  setKey(key: string): void {
    (this.#innermost as Container).key = key;
  }

  /** Adds a complete value to the innermost container, or as the value of the document. */
  add(whole: unknown): void {
    const container = this.#innermost;
    if (container) {
      put(container, whole);
      if (typeof container.key === "number") container.key += 1;
    } else {
      this.#value = whole;
      this.#isChanged = false;
    }
  }

  /**
   * Returns the value so far. Copies every open container after a change.
   *
   * @param readPartial returns the incomplete value; undefined if it can't be shown yet
   */
  read(readPartial: () => unknown): unknown {
    if (!this.#isChanged) return this.#value;
    let value = readPartial();
    for (let container = this.#innermost; container; container = container.outer) {
      if (value !== undefined) put(container, value);
      value = container.snapshot = copyContent(container);
    }
    this.#isChanged = false;
    this.#value = value;
    return value;
  }
}

function put(container: Container, value: unknown): void {
  const { content, key } = container;
  // engines store into a list and into an object by different code
  if (typeof key === "number") (content as unknown[])[key] = value;
  else if (key === "__proto__") {
    container.hasProto = true;
    Object.defineProperty(content, key, { value, writable: true, enumerable: true, configurable: true });
  } else (content as Record<string, unknown>)[key] = value;
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
