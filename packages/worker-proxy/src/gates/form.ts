import { invalid } from "../refusal.js";

/** A form as it may leave: the known fields, each once, written anew with a boundary of ours. */
export async function readForm(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  fields: RegExp | undefined,
): Promise<Record<string, unknown>> {
  let form: FormData;
  try {
    form = await new Response(bytes, { headers: { "content-type": contentType } }).formData();
  } catch {
    throw invalid("send a form that is whole");
  }
  const known: Record<string, unknown> = {};
  for (const [name, value] of form.entries()) {
    if (!fields?.test(name)) throw invalid("spell each field as the gateway does", name);
    if (Object.hasOwn(known, name)) throw invalid("send each field once", name);
    known[name] = value instanceof File ? renamed(value) : value;
  }
  return known;
}

/** What stands beside a file in a form's own lines, so that nothing more can be read into them. */
function renamed(file: File): File {
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(file.type) ? file.type : "application/octet-stream";
  return new File([file], file.name.replace(/[^\w.-]/g, "_"), { type });
}

/** The same fields as a form again. */
export function formOf(body: Readonly<Record<string, unknown>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, value as string | Blob);
  return form;
}
