/** Converts a Base64 data URI to a blob of its type. Returns undefined for any other text, and for invalid Base64. */
export function parseDataURI(uri: string): Blob | undefined {
  const [head, type] = DATA_URI.exec(uri) ?? [];
  if (head === undefined) return undefined;
  try {
    return new Blob([decodeBase64(uri.slice(head.length))], { type: type ?? "" });
  } catch {
    return undefined;
  }
}

const DATA_URI = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i;

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
