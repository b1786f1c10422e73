/** A request's body, read. */
export interface RequestBody {
  /** The text; of a form its fields as JSON, each file described by `{ name, type, size }`. */
  readonly text: string;
  /** Present if the body was `multipart/form-data` that could be read. */
  readonly form?: FormData;
}

/** Reads the body of `request`, whatever it is. */
export async function readBody(request: Request): Promise<RequestBody> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data\b/i.test(type)) return { text: await request.text() };
  const bytes = await request.arrayBuffer();
  try {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    return { text: JSON.stringify(Object.fromEntries([...form].map(described))), form };
  } catch {
    return { text: new TextDecoder().decode(bytes) };
  }
}

function described([name, value]: [string, FormDataEntryValue]): [string, unknown] {
  if (typeof value === "string") return [name, value];
  return [name, { name: value.name, type: value.type, size: value.size }];
}
