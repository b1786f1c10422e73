/** Returns true if a client could read the key out of a response, however it is written there. */
export function containsKey(text: string, key: string): boolean {
  const data = text.split(/\r\n\r\n|\n\n|\r\r/).map((event) =>
    event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.replace(/^data: ?/, ""))
      .join("\n"),
  );
  const values = [text, ...data].map(tryParse).filter((value) => value !== undefined);
  const contents = values.map((value) =>
    listTexts(value, /^(?:content|reasoning_content|arguments)$/).join(""),
  );
  const forms = [text, data.join(""), text.replace(/[\r\n]+(?:data: ?)?/g, ""), contents.join("")];
  return [...forms, ...values.flatMap((value) => listTexts(value))].some((one) => one.includes(key));
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The texts in a JSON value, or those under certain names; names of fields too where all are requested. */
function listTexts(value: unknown, names?: RegExp, name = ""): string[] {
  if (typeof value === "string") return !names || names.test(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) => [
    ...(names ? [] : [key]),
    ...listTexts(entry, names, Array.isArray(value) ? name : key),
  ]);
}
