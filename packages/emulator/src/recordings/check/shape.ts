const WORDS = /^(?:object|type|role|status|state|task_status|Status|finish_reason)$/;

/**
 * Lists the fields of a value with their types, `choices[].delta.content string`. Fields of states list their value.
 */
export function listFields(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) {
    const items = [...new Set(value.flatMap((item) => listFields(item, `${path}[]`)))];
    return items.length > 0 ? items : [`${path}[] empty`];
  }
  if (typeof value !== "object" || value === null) return [`${path} ${describeType(value, path)}`.trim()];
  const fields = Object.entries(value);
  if (fields.length === 0) return [`${path} {}`.trim()];
  return fields.flatMap(([name, field]) => listFields(field, path === "" ? name : `${path}.${name}`));
}

function describeType(value: unknown, path: string): string {
  if (value === null) return "null";
  const name = path.slice(path.lastIndexOf(".") + 1);
  return typeof value === "string" && WORDS.test(name) ? JSON.stringify(value) : typeof value;
}
