/** Whether what is dragged are files. */
export function hasFiles({ dataTransfer }: { readonly dataTransfer: DataTransfer | null }): boolean {
  return dataTransfer?.types.includes("Files") ?? false;
}

/** The links that were dropped, an image of another page's among them. */
export function linksOf(dataTransfer: DataTransfer): readonly string[] {
  return dataTransfer
    .getData("text/uri-list")
    .split(/\r?\n/)
    .filter((line) => line !== "" && !line.startsWith("#"));
}
