/** The parts of a valibot schema that say which fields there are, and where. */
export interface Shape {
  /** Fields of an object. */
  readonly entries?: Readonly<Record<string, Shape>>;
  /** Items of an array. */
  readonly item?: Shape;
  /** The schema that an optional or nullable one is about. */
  readonly wrapped?: Shape;
  /** The schema that a lazy one takes for `input`. */
  readonly getter?: (input: unknown) => Shape;
  /** The field that a variant decides by, and the objects that it decides between. */
  readonly key?: string;
  readonly options?: readonly unknown[];
  readonly "~run": (dataset: { value: unknown }, config: object) => { readonly issues?: unknown };
}

/** A field that the schema does not have, as a dot path, with the fields that are known at its place. */
export interface UnknownField {
  readonly path: string;
  readonly name: string;
  readonly known: readonly string[];
}

/** Finds the fields of a valid `input` that its schema does not have; of those alike in a list, the first. */
export function unknownFields(schema: Shape, input: unknown): UnknownField[] {
  const found = new Map<string, UnknownField>();
  visit(schema, input, "");
  return [...found.values()];

  function visit(shape: Shape, value: unknown, path: string): void {
    if (typeof value !== "object" || value === null) return;
    const { entries, item } = shape;
    const inner = shape.wrapped ?? shape.getter?.(value) ?? chosen(shape, value);
    if (inner) visit(inner, value, path);
    else if (item && Array.isArray(value))
      value.forEach((one, index) => {
        visit(item, one, `${path}${index}.`);
      });
    else if (entries)
      for (const [name, field] of Object.entries(value)) {
        const known = Object.hasOwn(entries, name) && entries[name];
        if (known) visit(known, field, `${path}${name}.`);
        else tell({ path: path + name, name, known: Object.keys(entries) });
      }
  }

  function tell(field: UnknownField): void {
    const place = field.path.replace(/\.\d+(?=\.)/g, "");
    if (!found.has(place)) found.set(place, field);
  }
}

/** The object that a variant chooses for `value`. */
function chosen({ key, options }: Shape, value: object): Shape | undefined {
  const given = (value as Record<string, unknown>)[key ?? ""];
  return key === undefined
    ? undefined
    : (options as readonly Shape[]).find(
        ({ entries }) => !entries?.[key]?.["~run"]({ value: given }, {}).issues,
      );
}
