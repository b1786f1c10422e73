/** A file for an image or video model. */
export type MediaFile =
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string | Uint8Array };

/** Returns the URL of a file, or a data URI of its bytes. */
export async function toURL(file: MediaFile): Promise<string> {
  return file.type === "url" ? file.url : toDataURIOfType(file.data, file.mediaType);
}

/** Converts bytes or Base64 to a data URI. The first bytes decide the type if `mediaType` is incomplete. */
export async function toDataURIOfType(data: string | Uint8Array, mediaType: string): Promise<string> {
  const isComplete = /^[\w.+-]+\/[\w.+-]+$/.test(mediaType);
  if (typeof data === "string" && isComplete) return `data:${mediaType};base64,${data}`;
  const { toDataURI } = await import("@sluice/media");
  return toDataURI(new Blob([toBytes(data)]), isComplete ? { type: mediaType } : {});
}

/** Returns the bytes of a file. Decodes Base64. */
export function toBytes(data: string | Uint8Array): Uint8Array<ArrayBuffer> {
  if (typeof data !== "string") return new Uint8Array(data);
  return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
}
