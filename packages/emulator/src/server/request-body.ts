import { hash } from "./hash.js";

/** The body of a request. */
export interface RequestBody {
  /** The text. For a form, its fields as JSON, with files as `{ name, type, size, hash }`. */
  readonly text: string;
  /** The form. Absent if the body was not valid `multipart/form-data`. */
  readonly form?: FormData;
}

/** Reads the body of a request of any type. */
export async function readBody(request: Request): Promise<RequestBody> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^multipart\/form-data\b/i.test(type)) return { text: await request.text() };
  const bytes = await request.arrayBuffer();
  try {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    return {
      text: JSON.stringify(Object.fromEntries(await Promise.all([...form].map(describeField)))),
      form,
    };
  } catch {
    return { text: new TextDecoder().decode(bytes) };
  }
}

/** Parses the text of a body: JSON, or the text itself if it is not JSON. Undefined for an empty text. */
export function parseText(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function describeField([name, value]: [string, FormDataEntryValue]): Promise<[string, unknown]> {
  if (typeof value === "string") return [name, value];
  const bytes = new TextDecoder("latin1").decode(await value.arrayBuffer());
  return [name, { name: value.name, type: value.type, size: value.size, hash: hash(bytes) }];
}
