import type { Rule } from "./rule.ts";

/** The parts of a valibot schema that describe its fields. `getter` belongs to a `lazy` schema, `options` to a union. */
interface Shape {
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly item?: Shape;
  readonly wrapped?: Shape;
  readonly getter?: (input: unknown) => Shape;
  readonly options?: readonly unknown[];
}

/**
 * Lists the fields of a schema as dot paths without the indexes of lists. `samples` are requests: a schema that depends
 * on its input is read for each of them.
 */
function listFields(schema: object, samples: readonly unknown[]): ReadonlySet<string> {
  const fields = new Set<string>();
  visit(schema as Shape, samples, "");
  return fields;

  function visit(
    { entries = {}, item, wrapped, getter, options }: Shape,
    values: readonly unknown[],
    path: string,
  ) {
    if (wrapped) visit(wrapped, values, path);
    // objects and lists without content also reach the schemas that no sample chooses
    if (getter) for (const value of [...values, {}, []]) visit(getter(value), values, path);
    for (const option of options ?? []) if (typeof option === "object") visit(option as Shape, values, path);
    if (item) visit(item, values.flat(), path);
    for (const [name, field] of Object.entries(entries)) {
      fields.add(path + name);
      const inner = values.map((value) => (value as Readonly<Record<string, unknown>> | undefined)?.[name]);
      visit(
        field,
        inner.filter((value) => value !== undefined && value !== null),
        `${path}${name}.`,
      );
    }
  }
}

/** Lists the fields of a model's requests that no rule tests. `model` needs no rule: it only chooses the rules. */
export function fieldsWithoutRule(model: string, schema: object, all: readonly Rule[]): string[] {
  const rules = all.filter(({ accepted }) => (accepted as { model?: string }).model === model);
  const testedPaths = rules.map(({ path }) => `${path.replace(/\.\d+(?=\.|$)/g, "")}.`);
  const requests = rules.flatMap(({ accepted, refused, warned }) => [accepted, refused, warned]);
  return [...listFields(schema, requests)].filter(
    (field) => field !== "model" && !testedPaths.some((path) => path.startsWith(`${field}.`)),
  );
}
