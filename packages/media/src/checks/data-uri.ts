/** Converts a Base64 data URI to a blob of its type; undefined for any other text, and for invalid Base64. */
export function blobOfDataURI(uri: string): Blob | undefined {
  const [head, type] = DATA_URI.exec(uri) ?? [];
  if (head === undefined) return undefined;
  try {
    return new Blob([bytesOfBase64(uri.slice(head.length))], { type: type ?? "" });
  } catch {
    return undefined;
  }
}

const DATA_URI = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i;

function bytesOfBase64(base64: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
