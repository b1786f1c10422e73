/** The properties of a valibot schema that describe its fields. */
export interface Shape {
  /** Fields of an object. */
  readonly entries?: Readonly<Record<string, Shape>>;
  /** Items of an array. */
  readonly item?: Shape;
  /** The wrapped schema of an optional or nullable schema. */
  readonly wrapped?: Shape;
  /** The assumed shape of a field that accepts any value. */
  readonly assumed?: Shape;
  /** The schema that a lazy schema returns for `input`. */
  readonly getter?: (input: unknown) => Shape;
  /** The field that selects a variant, and the variants. */
  readonly key?: string;
  readonly options?: readonly unknown[];
  readonly "~run": (dataset: { value: unknown }, config: object) => { readonly issues?: unknown };
}

/** A field that the schema lacks, as a dot path, and the known fields of its object. */
export interface UnknownField {
  readonly path: string;
  readonly name: string;
  readonly known: readonly string[];
}

/** Finds the fields of a valid `input` that its schema lacks. Reports a field of several list items once. */
export function findUnknownFields(schema: Shape, input: unknown): UnknownField[] {
  const found = new Map<string, UnknownField>();
  visit(schema, input, "");
  return [...found.values()];

  function visit(shape: Shape, value: unknown, path: string): void {
    if (typeof value !== "object" || value === null) return;
    const { entries, item } = shape;
    const inner = shape.assumed ?? shape.wrapped ?? shape.getter?.(value) ?? selectVariant(shape, value);
    if (inner) visit(inner, value, path);
    else if (item && Array.isArray(value))
      value.forEach((entry, index) => {
        visit(item, entry, `${path}${index}.`);
      });
    else if (entries)
      for (const [name, field] of Object.entries(value)) {
        const known = Object.hasOwn(entries, name) && entries[name];
        if (known) visit(known, field, `${path}${name}.`);
        else add({ path: path + name, name, known: Object.keys(entries) });
      }
  }

  function add(field: UnknownField): void {
    const path = field.path.replace(/\.\d+(?=\.)/g, "");
    if (!found.has(path)) found.set(path, field);
  }
}

/** Selects the variant whose field `key` accepts that of `value`. Undefined for a schema without variants. */
function selectVariant({ key, options }: Shape, value: object): Shape | undefined {
  if (key === undefined) return undefined;
  const selector = (value as Record<string, unknown>)[key];
  return (options as readonly Shape[]).find(
    ({ entries }) => !entries?.[key]?.["~run"]({ value: selector }, {}).issues,
  );
}
