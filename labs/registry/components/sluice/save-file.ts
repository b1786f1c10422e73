/** Saves a file in the folder of downloads. */
export function saveFile(file: Blob, fileName: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}

/** Saves a text as a file in the folder of downloads. */
export function saveText(text: string, fileName: string): void {
  saveFile(new Blob([text], { type: "text/plain" }), fileName);
}
