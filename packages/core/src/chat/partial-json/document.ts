/** An open array or object. Its content grows in place, and each reading gets a copy. */
interface Container {
  /** Content of an array. */
  readonly items: unknown[] | undefined;
  /** Content of an object. */
  readonly fields: Record<string, unknown>;
  readonly depth: number;
  readonly outer: Container | undefined;
  /** Key of the value that is being read. */
  key: string;
  /** Index of the value that is being read. */
  index: number;
  /** True if a key is `__proto__`, which `Object.assign` would not copy. */
  hasProto: boolean;
  /** Copy that the last reading returned. */
  snapshot: unknown;
}

/** The value of a document that is still incomplete. */
export interface GrowingDocument {
  /** The array or object of the next value; undefined at the top level. */
  innermost: Container | undefined;
  /** Result of the last reading, or the final value of a complete document. */
  value: unknown;
  /** True if the value changed after the last reading. Every open container has then changed. */
  isChanged: boolean;
}

/** Creates a document without a value. */
export function createDocument(): GrowingDocument {
  return { innermost: undefined, value: undefined, isChanged: false };
}

/** Opens an array with its `items`, or an object. */
export function openContainer(document: GrowingDocument, items: unknown[] | undefined): void {
  const outer = document.innermost;
  document.innermost = {
    items,
    fields: {},
    depth: outer ? outer.depth + 1 : 1,
    outer,
    key: "",
    index: 0,
    hasProto: false,
    snapshot: undefined,
  };
  document.isChanged = true;
}

/** Closes the innermost container. Its last copy becomes its value if nothing changed after it. */
export function closeContainer(document: GrowingDocument): void {
  const { items, fields, snapshot, outer } = document.innermost as Container;
  document.innermost = outer;
  addValue(document, document.isChanged ? (items ?? fields) : snapshot);
}

/** Sets the key of the next value of the innermost object. */
export function setKey({ innermost }: GrowingDocument, key: string): void {
  (innermost as Container).key = key;
}

/** Adds a complete value to the innermost container, or as the value of the document. */
export function addValue(document: GrowingDocument, whole: unknown): void {
  const { innermost } = document;
  if (innermost) {
    put(innermost, whole);
    innermost.index += 1;
  } else {
    document.value = whole;
    document.isChanged = false;
  }
}

/**
 * Copies every open container. The copy of the outermost one becomes the document's value.
 *
 * @param partial the incomplete value; undefined if it can't be shown yet
 */
export function takeSnapshot(document: GrowingDocument, partial: unknown): void {
  let value = partial;
  for (let container = document.innermost; container; container = container.outer) {
    if (value !== undefined) put(container, value);
    value = container.snapshot = copyContainer(container);
  }
  document.value = value;
  document.isChanged = false;
}

function put(container: Container, value: unknown): void {
  const { items, fields, key } = container;
  if (items) items[container.index] = value;
  else if (key === "__proto__") {
    container.hasProto = true;
    Object.defineProperty(fields, key, { value, writable: true, enumerable: true, configurable: true });
  } else fields[key] = value;
}

function copyContainer({ items, fields, hasProto }: Container): unknown {
  if (items) return items.slice();
  // faster than a spread for objects of many shapes
  return hasProto ? { ...fields } : Object.assign({}, fields);
}
