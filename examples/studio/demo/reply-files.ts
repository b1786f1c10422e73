const files = import.meta.glob<string>("./replies/*.md", { eager: true, query: "?raw", import: "default" });

/** Returns the names, without `.md`, and the texts of all files of `replies/`, which are part of the build. */
export function readReplyFiles(): readonly (readonly [name: string, text: string])[] {
  return Object.entries(files).map(([path, text]) => [path.slice("./replies/".length, -3), text]);
}
